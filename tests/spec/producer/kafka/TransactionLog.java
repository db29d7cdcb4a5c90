import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ScheduledFuture;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.internals.AutoOffsetResetStrategy;
import org.apache.kafka.clients.consumer.internals.CompletedFetch;
import org.apache.kafka.clients.consumer.internals.Deserializers;
import org.apache.kafka.clients.consumer.internals.FetchConfig;
import org.apache.kafka.clients.consumer.internals.SubscriptionState;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.FileRecords;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.record.RecordVersion;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.FetchDataInfo;
import org.apache.kafka.storage.internals.log.LogAppendInfo;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogStartOffsetIncrementReason;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.log.VerificationGuard;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * Histories of a log with transactions: Kafka's UnifiedLog (in Java since 4.1), and what a consumer's
 * CompletedFetch delivers of it.
 *
 * Each line of the input is a history: operations, separated by blanks, whose fields are separated
 * by commas (see transaction_logs.py). The answer has a word for each operation.
 */
public class TransactionLog {
    static final TopicPartition PARTITION = new TopicPartition("topic", 0);
    static final Method APPEND = append();

    public static void main(String[] arguments) throws Exception {
        File parent = Files.createTempDirectory("transaction-log").toFile();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        PrintStream out = new PrintStream(System.out, false);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            File folder = new File(parent, "topic-0");
            folder.mkdir();
            History history = new History(folder);
            List<String> words = new ArrayList<>();
            for (String operation : line.split(" "))
                words.add(history.operate(operation.split(",")));
            history.log.closeHandlers();
            out.println(String.join(" ", words));
            delete(folder);
        }
        out.flush();
        delete(parent);
        System.exit(0);
    }

    static void delete(File file) {
        File[] files = file.listFiles();
        if (files != null)
            for (File each : files)
                delete(each);
        file.delete();
    }

    static Method append() {
        for (Method method : UnifiedLog.class.getMethods())
            if (method.getName().equals("appendAsLeader") && method.getParameterCount() >= 5)
                return method;
        throw new IllegalStateException("appendAsLeader");
    }

    static class History {
        final File folder;
        UnifiedLog log;
        final List<Long> starts = new ArrayList<>();
        final Map<Long, VerificationGuard> guards = new HashMap<>();

        History(File folder) throws Exception {
            this.folder = folder;
            this.log = open(folder, 0, 0);
        }

        String operate(String[] f) throws Exception {
            String answer = "ok";
            long end = log.logEndOffset();
            switch (f[0]) {
                case "b":
                    answer = append(Batches.data(f[7].equals("R") ? end : 0, num(f[1]), (short) num(f[2]), (int) num(f[3]),
                        (int) num(f[4]), num(f[5]), f[6].equals("1") ? 0x10 : 0), f[7], guard(num(f[1]), f[8]), (short) 0);
                    break;
                case "n":
                    answer = append(Batches.data(0, -1, (short) -1, -1, (int) num(f[1]), 1, 0), "C", VerificationGuard.SENTINEL, (short) 0);
                    break;
                case "m":
                    answer = append(Batches.marker(f[7].equals("R") ? end : 0, num(f[1]), (short) num(f[2]), (int) num(f[3]),
                        f[4].equals("1"), num(f[5])), f[7], VerificationGuard.SENTINEL, (short) num(f[6]));
                    break;
                case "v":
                    try {
                        VerificationGuard guard = log.maybeStartTransactionVerification(num(f[1]), (int) num(f[2]), (short) num(f[3]), f[4].equals("1"));
                        answer = guard == VerificationGuard.SENTINEL ? "open" : "begun";
                        if (answer.equals("begun"))
                            guards.put(num(f[1]), guard);
                    } catch (RuntimeException e) {
                        answer = Errors.forException(e).name();
                    }
                    break;
                case "h":
                    log.updateHighWatermark(Math.max(log.highWatermark(), place(f[1])));
                    break;
                case "s":
                    long start = Math.min(place(f[1]), log.highWatermark());
                    log.maybeIncrementLogStartOffset(start, LogStartOffsetIncrementReason.ClientRecordDeletion);
                    break;
                case "t":
                    log.truncateTo(Math.max(log.logStartOffset(), place(f[1])));
                    starts.removeIf(each -> each >= log.logEndOffset());
                    log.updateHighWatermark(log.highWatermark());
                    break;
                case "p":
                    log.takeProducerSnapshot();
                    break;
                case "r":
                    long highWatermark = log.highWatermark();
                    long logStart = log.logStartOffset();
                    log.close();
                    log = open(folder, logStart, end);
                    log.updateHighWatermark(highWatermark);
                    break;
                case "f":
                    answer = fetch(Math.max(log.logStartOffset(), place(f[1])), f[2].equals("1"));
                    break;
                default:
                    throw new IllegalArgumentException(f[0]);
            }
            return answer + "/" + log.lastStableOffset();
        }

        /** The log's end, or where one of the last batches begins. */
        long place(String back) {
            int at = starts.size() - (int) num(back);
            return at >= starts.size() ? log.logEndOffset() : at < 0 ? log.logStartOffset() : starts.get(at);
        }

        VerificationGuard guard(long producer, String which) {
            VerificationGuard known = guards.get(producer);
            return which.equals("r") && known != null ? known : which.equals("w") ? new VerificationGuard() : VerificationGuard.SENTINEL;
        }

        String append(MemoryRecords records, String origin, VerificationGuard guard, short version) throws Exception {
            long end = log.logEndOffset();
            try {
                LogAppendInfo info;
                if (origin.equals("R")) {
                    info = log.appendAsFollower(records, 0);
                } else {
                    AppendOrigin from = origin.equals("C") ? AppendOrigin.CLIENT : AppendOrigin.COORDINATOR;
                    Object[] all = {records, 0, from, RequestLocal.noCaching(), guard, version};
                    info = (LogAppendInfo) APPEND.invoke(log, java.util.Arrays.copyOf(all, APPEND.getParameterCount()));
                }
                if (log.logEndOffset() > end)
                    starts.add(end);
                return (log.logEndOffset() > end ? "ok@" : "dup@") + info.firstOffset();
            } catch (InvocationTargetException e) {
                return Errors.forException(e.getCause()).name();
            } catch (RuntimeException e) {
                return Errors.forException(e).name();
            }
        }

        String fetch(long offset, boolean isReadCommitted) throws Exception {
            FetchIsolation isolation = isReadCommitted ? FetchIsolation.TXN_COMMITTED : FetchIsolation.HIGH_WATERMARK;
            FetchDataInfo info = log.read(offset, 1 << 20, isolation, true);
            MemoryRecords records = MemoryRecords.EMPTY;
            if (info.records instanceof FileRecords) {
                ByteBuffer buffer = ByteBuffer.allocate(info.records.sizeInBytes());
                ((FileRecords) info.records).readInto(buffer, 0);
                records = MemoryRecords.readableRecords(buffer);
            }
            List<FetchResponseData.AbortedTransaction> aborted = info.abortedTransactions.orElse(null);
            StringBuilder answer = new StringBuilder();
            for (RecordBatch batch : records.batches())
                answer.append(batch.baseOffset()).append('-').append(batch.lastOffset()).append(';');
            answer.append('|');
            if (aborted != null)
                for (FetchResponseData.AbortedTransaction each : aborted)
                    answer.append(each.producerId()).append('@').append(each.firstOffset()).append(';');
            return answer.append('|').append(deliver(offset, records, aborted, isReadCommitted)).toString();
        }
    }

    // -- the consumer -----------------------------------------------------------------------------

    static final Constructor<?> COMPLETED = opened(CompletedFetch.class.getDeclaredConstructors()[0]);
    static final Constructor<?> AGGREGATOR = aggregator();
    static final Method FETCH = fetchRecords();

    static Constructor<?> opened(Constructor<?> constructor) {
        constructor.setAccessible(true);
        return constructor;
    }

    static Constructor<?> aggregator() {
        try {
            return opened(Class.forName("org.apache.kafka.clients.consumer.internals.FetchMetricsAggregator").getDeclaredConstructors()[0]);
        } catch (ClassNotFoundException e) {
            throw new IllegalStateException(e);
        }
    }

    static Method fetchRecords() {
        for (Method method : CompletedFetch.class.getDeclaredMethods())
            if (method.getName().equals("fetchRecords")) {
                method.setAccessible(true);
                return method;
            }
        throw new IllegalStateException("fetchRecords");
    }

    static String deliver(long offset, MemoryRecords records, List<FetchResponseData.AbortedTransaction> aborted, boolean isReadCommitted) throws Exception {
        LogContext context = new LogContext();
        IsolationLevel level = isReadCommitted ? IsolationLevel.READ_COMMITTED : IsolationLevel.READ_UNCOMMITTED;
        FetchResponseData.PartitionData data = new FetchResponseData.PartitionData().setRecords(records).setAbortedTransactions(aborted);
        // Another partition is waited for, so that nothing is measured.
        Object metrics = AGGREGATOR.newInstance(null, new HashSet<>(Set.of(PARTITION, new TopicPartition("other", 0))));
        SubscriptionState subscriptions = new SubscriptionState(context, AutoOffsetResetStrategy.EARLIEST);
        Object fetch = COMPLETED.newInstance(context.logger(TransactionLog.class), subscriptions, BufferSupplier.NO_CACHING, PARTITION, data, metrics, offset);
        FetchConfig config = new FetchConfig(1, 1 << 20, 500, 1 << 20, 10000, true, "", level);
        try (Metrics none = new Metrics()) {
            Deserializers<byte[], byte[]> deserializers = new Deserializers<>(new ByteArrayDeserializer(), new ByteArrayDeserializer(), none);
            StringBuilder answer = new StringBuilder();
            for (Object each : (List<?>) FETCH.invoke(fetch, config, deserializers, 10000))
                answer.append(((ConsumerRecord<?, ?>) each).offset()).append(';');
            Method position = CompletedFetch.class.getDeclaredMethod("nextFetchOffset");
            position.setAccessible(true);
            return answer.append('>').append(position.invoke(fetch)).toString();
        }
    }

    // -- the log ----------------------------------------------------------------------------------

    static UnifiedLog open(File folder, long logStart, long recoveryPoint) throws Exception {
        ScheduledFuture<?> future = proxy(ScheduledFuture.class, null);
        Scheduler scheduler = proxy(Scheduler.class, future);
        Time time = proxy(Time.class, null);
        return UnifiedLog.create(folder, new LogConfig(Map.of()), logStart, recoveryPoint, scheduler, STATS, time, 1000,
            new ProducerStateManagerConfig(1_000_000, true), 600_000, new LogDirFailureChannel(1), true, Optional.empty());
    }

    static final BrokerTopicStats STATS = new BrokerTopicStats(false);

    /** A clock that stands still, a scheduler that does nothing. */
    @SuppressWarnings("unchecked")
    static <T> T proxy(Class<T> type, Object returned) {
        return (T) Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (proxy, method, a) ->
            method.getReturnType() == long.class ? (Object) 1000L : method.getReturnType() == boolean.class ? (Object) false
            : method.getReturnType().isInstance(returned) ? returned : null);
    }

    static long num(String text) {
        return Long.parseLong(text);
    }

    /** Record batches of the current format, byte by byte. */
    static class Batches {
        static MemoryRecords data(long offset, long producer, short epoch, int sequence, int count, long time, int attributes) {
            ByteBuffer records = ByteBuffer.allocate(16 * count);
            for (int i = 0; i < count; i++)
                record(records, i, new byte[0], new byte[0]);
            return batch(offset, producer, epoch, sequence, count, time, attributes, records);
        }

        static MemoryRecords marker(long offset, long producer, short epoch, int coordinator, boolean isAbort, long time) {
            ByteBuffer records = ByteBuffer.allocate(32);
            byte[] key = {0, 0, 0, (byte) (isAbort ? 0 : 1)};
            record(records, 0, key, ByteBuffer.allocate(6).putShort((short) 0).putInt(coordinator).array());
            return batch(offset, producer, epoch, -1, 1, time, 0x30, records);
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
