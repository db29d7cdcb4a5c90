import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.AccessibleObject;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.RecordBatch;

/**
 * Histories of Kafka's ProducerStateManager, from 1.0 (in Scala) to 4.2 (in Java).
 *
 * Each line of the input is a history: operations, separated by blanks, whose fields are separated
 * by commas (see producer_states.py). The answer has a word for each operation, and at last the
 * state. The classes differ from release to release, and are called by reflection.
 */
public class ProducerState {
    static final String JAVA = "org.apache.kafka.storage.internals.log.";
    static final int EXPIRATION = 1000;
    static long now = 0;
    static boolean isJava;

    public static void main(String[] arguments) throws Exception {
        try {
            Class.forName(JAVA + "ProducerStateManager");
            isJava = true;
        } catch (ClassNotFoundException e) {
            isJava = false;
        }
        File folder = Files.createTempDirectory("producer-state").toFile();
        PrintStream out = new PrintStream(System.out, false);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(new History(folder).answer(line));
            for (File file : folder.listFiles())
                file.delete();
        }
        out.flush();
        folder.delete();
    }

    static class History {
        final File folder;
        final Object manager;
        long end = 0;

        History(File folder) throws Exception {
            now = 0;
            this.folder = folder;
            this.manager = newManager(folder);
        }

        String answer(String line) throws Exception {
            List<String> words = new ArrayList<>();
            for (String operation : line.split(" "))
                words.add(operate(operation.split(",")));
            words.add(dump());
            return String.join(" ", words);
        }

        String operate(String[] f) throws Exception {
            String answer = "ok";
            switch (f[0]) {
                case "b":
                    answer = append(Batches.data(end, num(f[1]), (short) num(f[2]), (int) num(f[3]),
                        (int) num(f[4]), num(f[5]), f[6].equals("1")), f[7], (short) 0);
                    break;
                case "m":
                    answer = append(Batches.marker(end, num(f[1]), (short) num(f[2]), (int) num(f[3]),
                        f[4].equals("1"), num(f[5])), f[7], (short) num(f[6]));
                    break;
                case "v":
                    Object[] all = {num(f[1]), (int) num(f[2]), (short) num(f[3]), f[4].equals("1")};
                    int takes = find(manager.getClass(), "maybeCreateVerificationStateEntry", 4) == null ? 3 : 4;
                    Object entry = call(manager, "maybeCreateVerificationStateEntry", java.util.Arrays.copyOf(all, takes));
                    answer = "v" + call(entry, "lowestSequence") + "," + call(entry, "epoch");
                    break;
                case "h":
                    call(manager, "onHighWatermarkUpdated", num(f[1]));
                    break;
                case "s":
                    String name = find(manager.getClass(), "truncateHead", 1) != null ? "truncateHead" : "onLogStartOffsetIncremented";
                    call(manager, name, num(f[1]));
                    end = Math.max(end, num(f[1]));
                    break;
                case "e":
                    now = num(f[1]);
                    call(manager, "removeExpiredProducers", now);
                    break;
                case "p":
                    if (find(manager.getClass(), "takeSnapshot", 1) != null)
                        call(manager, "takeSnapshot", false);
                    else
                        call(manager, "takeSnapshot");
                    answer = snapshot();
                    break;
                case "t":
                    call(manager, "truncateAndReload", num(f[1]), num(f[2]), num(f[3]));
                    end = (long) call(manager, "mapEndOffset");
                    break;
                case "f":
                    call(manager, "truncateFullyAndStartAt", num(f[1]));
                    end = num(f[1]);
                    break;
                default:
                    throw new IllegalArgumentException(f[0]);
            }
            Object unstable = orNull(call(manager, "firstUnstableOffset"));
            return answer + "/" + (unstable == null ? "-" : field(unstable, "messageOffset"));
        }

        String append(MemoryRecords records, String origin, short version) throws Exception {
            RecordBatch batch = records.batches().iterator().next();
            try {
                Object known = orNull(call(manager, "lastEntry", batch.producerId()));
                if (origin.equals("C") && known != null) {
                    Object duplicate = orNull(call(known, "findDuplicateBatch", batch));
                    if (duplicate != null)
                        return "dup" + call(duplicate, "firstOffset");
                }
                Map<Long, Object> infos = new HashMap<>();
                Object completed = update(batch, infos, origin, version);
                for (Object info : infos.values())
                    call(manager, "update", info);
                end = batch.lastOffset() + 1;
                call(manager, "updateMapEndOffset", end);
                if (completed == null)
                    return "ok";
                Object stable = find(manager.getClass(), "lastStableOffset", 1) == null ? null : call(manager, "lastStableOffset", completed);
                Object returned = call(manager, "completeTxn", completed);
                if (stable == null)
                    stable = returned;
                return "ok:" + field(completed, "firstOffset") + "," + field(completed, "lastOffset") + ","
                    + ((boolean) field(completed, "isAborted") ? 1 : 0) + "," + stable;
            } catch (InvocationTargetException e) {
                return Errors.forException(e.getCause()).name();
            }
        }

        Object update(RecordBatch batch, Map<Long, Object> infos, String origin, short version) throws Exception {
            Class<?> log = null;
            try {
                log = Class.forName(JAVA + "UnifiedLog");
            } catch (ClassNotFoundException e) {
                // before 4.0
            }
            for (int takes = 6; log != null && takes >= 5; takes--) {
                Method method = find(log, "updateProducers", takes);
                if (method != null) {
                    Object[] all = {manager, batch, infos, Optional.empty(), origin(origin), version};
                    return orNull(method.invoke(null, java.util.Arrays.copyOf(all, takes)));
                }
            }
            Object info = call(manager, "prepareUpdate", batch.producerId(), origin(origin));
            infos.put(batch.producerId(), info);
            Object completed = orNull(
                isJava ? call(info, "append", batch, Optional.empty())
                : find(info.getClass(), "append", 2) == null ? call(info, "append", batch)
                : call(info, "append", batch, none()));
            if (batch.isTransactional() && find(manager.getClass(), "clearVerificationStateEntry", 1) != null)
                call(manager, "clearVerificationStateEntry", batch.producerId());
            return completed;
        }

        String snapshot() throws Exception {
            File newest = null;
            for (File file : folder.listFiles())
                if (newest == null || file.getName().compareTo(newest.getName()) > 0)
                    newest = file;
            if (newest == null)
                return "none";
            byte[] bytes = Files.readAllBytes(newest.toPath());
            return HexFormat.of().formatHex(isJava ? bytes : Batches.inOrder(bytes));
        }

        String dump() throws Exception {
            List<String> entries = new ArrayList<>();
            for (long producer = 0; producer < 10; producer++) {
                Object entry = orNull(call(manager, "lastEntry", producer));
                if (entry == null)
                    continue;
                StringBuilder batches = new StringBuilder();
                Object iterator = call(call(entry, "batchMetadata"), "iterator");
                while ((boolean) call(iterator, "hasNext")) {
                    Object each = call(iterator, "next");
                    batches.append('[').append(call(each, "firstSeq")).append('-').append(field(each, "lastSeq"))
                        .append('@').append(call(each, "firstOffset")).append('-').append(field(each, "lastOffset")).append(']');
                }
                Object start = orNull(call(entry, "currentTxnFirstOffset"));
                entries.add(producer + ":" + call(entry, "producerEpoch") + ":" + call(entry, "coordinatorEpoch") + ":"
                    + call(entry, "lastTimestamp") + ":" + (start == null ? "-" : start) + ":" + batches);
            }
            Object latest = orNull(call(manager, "latestSnapshotOffset"));
            Object undecided = find(manager.getClass(), "firstUndecidedOffset", 0) == null ? null : orNull(call(manager, "firstUndecidedOffset"));
            return "{" + String.join(";", entries) + "}" + call(manager, "mapEndOffset") + "," + (latest == null ? "-" : latest)
                + "," + (undecided == null ? "-" : undecided);
        }
    }

    // -- the classes of each release --------------------------------------------------------------

    static Object newManager(File folder) throws Exception {
        TopicPartition partition = new TopicPartition("topic", 0);
        if (!isJava) {
            Constructor<?> make = Class.forName("kafka.log.ProducerStateManager").getConstructors()[0];
            return make.newInstance(partition, folder, EXPIRATION);
        }
        Class<?> time = Class.forName("org.apache.kafka.common.utils.Time");
        Object clock = Proxy.newProxyInstance(time.getClassLoader(), new Class<?>[] {time},
            (proxy, method, a) -> method.getReturnType() == long.class ? now : null);
        Constructor<?> settings = Class.forName(JAVA + "ProducerStateManagerConfig").getConstructors()[0];
        Constructor<?> make = Class.forName(JAVA + "ProducerStateManager").getConstructors()[0];
        return make.newInstance(partition, folder, 1000, settings.newInstance(EXPIRATION, true), clock);
    }

    static Object origin(String letter) throws Exception {
        String name = letter.equals("C") ? "Client" : letter.equals("K") ? "Coordinator" : "Replication";
        if (isJava)
            return field(Class.forName(JAVA + "AppendOrigin"), null, name.toUpperCase());
        try {
            return field(Class.forName("kafka.log.AppendOrigin$" + name + "$"), null, "MODULE$");
        } catch (ClassNotFoundException e) {
            return letter.equals("C"); // isFromClient
        }
    }

    static Object none() throws Exception {
        return field(Class.forName("scala.None$"), null, "MODULE$");
    }

    // -- reflection -------------------------------------------------------------------------------

    static final Map<String, Optional<Method>> METHODS = new HashMap<>();

    static Method find(Class<?> type, String name, int parameters) {
        return METHODS.computeIfAbsent(type.getName() + "." + name + parameters, key -> {
            for (Class<?> each = type; each != null; each = each.getSuperclass())
                for (Method method : each.getDeclaredMethods())
                    if (method.getName().equals(name) && method.getParameterCount() == parameters) {
                        open(method);
                        return Optional.of(method);
                    }
            return Optional.empty();
        }).orElse(null);
    }

    static void open(AccessibleObject member) {
        member.setAccessible(true);
    }

    static Object call(Object target, String name, Object... arguments) throws Exception {
        Method method = find(target.getClass(), name, arguments.length);
        if (method == null)
            throw new NoSuchMethodException(target.getClass() + "." + name);
        return method.invoke(target, arguments);
    }

    static Object field(Object target, String name) throws Exception {
        return find(target.getClass(), name, 0) != null ? call(target, name) : field(target.getClass(), target, name);
    }

    static Object field(Class<?> type, Object target, String name) throws Exception {
        Field field = type.getDeclaredField(name);
        open(field);
        return field.get(target);
    }

    static Object orNull(Object found) throws Exception {
        if (found instanceof Optional)
            return ((Optional<?>) found).orElse(null);
        if (found instanceof OptionalLong)
            return ((OptionalLong) found).isPresent() ? ((OptionalLong) found).getAsLong() : null;
        if (found == null || !found.getClass().getName().startsWith("scala."))
            return found;
        return (boolean) call(found, "isEmpty") ? null : call(found, "get");
    }

    static long num(String text) {
        return Long.parseLong(text);
    }

    /** Record batches of the current format, byte by byte. */
    static class Batches {
        static MemoryRecords data(long offset, long producer, short epoch, int sequence, int count, long time, boolean isTransactional) {
            ByteBuffer records = ByteBuffer.allocate(16 * count);
            for (int i = 0; i < count; i++)
                record(records, i, new byte[0], new byte[0]);
            return batch(offset, producer, epoch, sequence, count, time, isTransactional ? 0x10 : 0, records);
        }

        static MemoryRecords marker(long offset, long producer, short epoch, int coordinator, boolean isAbort, long time) {
            ByteBuffer records = ByteBuffer.allocate(32);
            byte[] key = {0, 0, 0, (byte) (isAbort ? 0 : 1)};
            record(records, 0, key, ByteBuffer.allocate(6).putShort((short) 0).putInt(coordinator).array());
            return batch(offset, producer, epoch, -1, 1, time, 0x30, records);
        }

        /** A snapshot with its producers in Java's order, as Scala's maps have another one. */
        static byte[] inOrder(byte[] bytes) {
            java.util.zip.CRC32C crc = new java.util.zip.CRC32C();
            crc.update(bytes, 6, bytes.length - 6);
            if ((int) crc.getValue() != ByteBuffer.wrap(bytes).getInt(2))
                throw new IllegalStateException("the checksum is wrong");
            List<ByteBuffer> rows = new ArrayList<>();
            for (int at = 10; at < bytes.length; at += 46)
                rows.add(ByteBuffer.wrap(bytes.clone(), at, 46));
            Collections.sort(rows);
            ByteBuffer sorted = ByteBuffer.wrap(bytes).position(10);
            rows.forEach(sorted::put);
            crc.reset();
            crc.update(bytes, 6, bytes.length - 6);
            return sorted.putInt(2, (int) crc.getValue()).array();
        }

        /** A record whose lengths fit into one byte each. */
        static void record(ByteBuffer to, int delta, byte[] key, byte[] value) {
            to.put((byte) (2 * (6 + key.length + value.length))).put((byte) 0).put((byte) 0).put((byte) (2 * delta));
            to.put((byte) (2 * key.length)).put(key).put((byte) (2 * value.length)).put(value).put((byte) 0);
        }

        static MemoryRecords batch(long offset, long producer, short epoch, int sequence, int count, long time, int attributes, ByteBuffer records) {
            records.flip();
            ByteBuffer body = ByteBuffer.allocate(40 + records.remaining());
            body.putShort((short) attributes).putInt(count - 1).putLong(time).putLong(time);
            body.putLong(producer).putShort(epoch).putInt(sequence).putInt(count).put(records).flip();
            java.util.zip.CRC32C crc = new java.util.zip.CRC32C();
            crc.update(body.duplicate());
            ByteBuffer all = ByteBuffer.allocate(21 + body.remaining());
            all.putLong(offset).putInt(9 + body.remaining()).putInt(0).put((byte) 2).putInt((int) crc.getValue());
            all.put(body).flip();
            return MemoryRecords.readableRecords(all);
        }
    }
}
