import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.RandomAccessFile;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.record.FileRecords;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.storage.internals.checkpoint.LeaderEpochCheckpointFile;
import org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.ProducerStateManager;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.RollParams;

/** Plays scenarios on Kafka's own LogSegment: a command on each line, and a line of answer. */
public class Segments {
    static File folder;
    static LogSegment segment;
    static LogConfig config;

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        StringBuilder output = new StringBuilder();
        for (String line; (line = input.readLine()) != null; ) {
            String answer;
            try {
                answer = answer(line.split(" "));
            } catch (Exception rejected) {
                answer = "rejected " + rejected.getClass().getSimpleName();
            }
            output.append(answer).append('\n');
        }
        System.out.print(output);
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    static String answer(String[] words) throws Exception {
        switch (words[0]) {
            case "new": return create(words);
            case "append": return append(Batches.parse(words[1]));
            case "roll": return roll(Long.parseLong(words[1]), words);
            case "seal": segment.onBecomeInactiveSegment(); return state();
            case "truncate":
                Batches.now = Long.parseLong(words[2]);
                segment.truncateTo(Long.parseLong(words[1]));
                return state();
            case "damage": return damage(Integer.parseInt(words[1]));
            case "recover": return recover();
            case "find": return find(Long.parseLong(words[1]));
            case "time":
                Optional<FileRecords.TimestampAndOffset> found =
                    segment.findOffsetByTimestamp(Long.parseLong(words[1]), Long.parseLong(words[2]));
                return found.map(f -> f.timestamp + " " + f.offset).orElse("none");
            default: throw new IllegalStateException(words[0]);
        }
    }

    static String create(String[] words) throws Exception {
        if (segment != null) {
            try {
                segment.close();
            } catch (RuntimeException full) {
                // the index of the last scenario
            }
        }
        folder = Files.createTempDirectory(new File(System.getProperty("folder")).toPath(), "t").toFile();
        Map<String, Object> settings = new HashMap<>();
        settings.put("index.interval.bytes", words[2]);
        settings.put("segment.index.bytes", words[3]);
        config = new LogConfig(settings);
        Batches.now = Long.parseLong(words[4]);
        segment = LogSegment.open(folder, Long.parseLong(words[1]), config, Batches.clock(), 0, false);
        return state();
    }

    /** Up to 4.0 the caller says which timestamp is the greatest; since then Kafka looks itself. */
    static String append(MemoryRecords records) throws Exception {
        long last = -1, greatest = Long.MIN_VALUE, offset = -1;
        for (RecordBatch batch : records.batches()) {
            last = batch.lastOffset();
            if (batch.maxTimestamp() > greatest) {
                greatest = batch.maxTimestamp();
                offset = batch.lastOffset();
            }
        }
        String sizes = Batches.sizes(records);
        for (Method method : LogSegment.class.getMethods())
            if (method.getName().equals("append"))
                try {
                    if (method.getParameterCount() == 4)
                        method.invoke(segment, last, greatest, offset, records);
                    else
                        method.invoke(segment, last, records);
                } catch (java.lang.reflect.InvocationTargetException rejected) {
                    return sizes + " rejected " + rejected.getCause().getClass().getSimpleName();
                }
        return sizes + " " + state();
    }

    static String roll(long now, String[] words) throws Exception {
        MemoryRecords records = Batches.parse(words[4]);
        long last = -1, greatest = Long.MIN_VALUE;
        for (RecordBatch batch : records.batches()) {
            last = batch.lastOffset();
            greatest = Math.max(greatest, batch.maxTimestamp());
        }
        boolean rolls = segment.shouldRoll(new RollParams(Long.parseLong(words[2]),
            Integer.parseInt(words[3]), greatest, last, records.sizeInBytes(), now));
        return Batches.sizes(records) + " " + rolls;
    }

    /** Changes the checksum of a batch: this one, or the last one. */
    static String damage(int number) throws Exception {
        int place = 0, start = 0, count = 0;
        for (RecordBatch batch : segment.log().batches()) {
            if (count++ <= number)
                place = start + 20;
            start += batch.sizeInBytes();
        }
        if (count == 0)
            return "0";
        try (RandomAccessFile file = new RandomAccessFile(segment.log().file(), "rw")) {
            file.seek(place);
            int last = file.read();
            file.seek(place);
            file.write(last ^ 1);
        }
        return String.valueOf(count);
    }

    /** The segment is opened again and recovered, as the active one. */
    static String recover() throws Exception {
        Files.deleteIfExists(new File(folder, "leader-epoch-checkpoint").toPath());
        LeaderEpochFileCache epochs = new LeaderEpochFileCache(new TopicPartition("t", 0),
            new LeaderEpochCheckpointFile(new File(folder, "leader-epoch-checkpoint"), new LogDirFailureChannel(1)), Batches.scheduler());
        ProducerStateManager producers = new ProducerStateManager(new TopicPartition("t", 0), folder,
            60000, new ProducerStateManagerConfig(60000, false), Batches.clock());
        long base = segment.baseOffset();
        segment.close();
        segment = LogSegment.open(folder, base, config, Batches.clock(), true, 0, false, "");
        segment.recover(producers, epochs);
        segment.resizeIndexes(config.maxIndexSize);
        List<String> entries = new ArrayList<>();
        epochs.epochEntries().forEach(entry -> entries.add(entry.epoch + ":" + entry.startOffset));
        return String.join(",", entries) + " " + state();
    }

    static String find(long offset) throws Exception {
        Object found = segment.translateOffset(offset);
        if (found == null)
            return "none";
        FileRecords.LogOffsetPosition place = (FileRecords.LogOffsetPosition) found;
        return place.position + " " + place.offset;
    }

    static String state() throws Exception {
        List<String> offsets = new ArrayList<>();
        for (int i = 0; i < segment.offsetIndex().entries(); i++)
            offsets.add(segment.offsetIndex().entry(i).offset + ":" + segment.offsetIndex().entry(i).position);
        List<String> times = new ArrayList<>();
        for (int i = 0; i < segment.timeIndex().entries(); i++)
            times.add(segment.timeIndex().entry(i).timestamp + ":" + segment.timeIndex().entry(i).offset);
        return segment.size() + " " + segment.readNextOffset() + " " + segment.maxTimestampSoFar()
            + " " + segment.offsetIndex().isFull() + " " + segment.timeIndex().isFull()
            + " " + (offsets.isEmpty() ? "-" : String.join(",", offsets))
            + " " + (times.isEmpty() ? "-" : String.join(",", times));
    }
}
