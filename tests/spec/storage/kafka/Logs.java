import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.RandomAccessFile;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.record.FileRecords;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.LastRecord;
import org.apache.kafka.storage.internals.log.LogCleanerManager;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.LogStartOffsetIncrementReason;
import org.apache.kafka.storage.internals.log.LogToClean;
import org.apache.kafka.storage.internals.log.OffsetMap;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/** Plays scenarios on Kafka's own UnifiedLog, Cleaner and LogLoader (4.1), a command on each line. */
public class Logs {
    static UnifiedLog log;
    static LogConfig config;
    static File folder;

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
        long number = words.length > 1 && words[1].matches("-?[0-9]+") ? Long.parseLong(words[1]) : 0;
        switch (words[0]) {
            case "new": return create(words);
            case "append": return append(words);
            case "roll": log.roll(); return shape();
            case "watermark": log.updateHighWatermark(number); return String.valueOf(log.highWatermark());
            case "start":
                log.maybeIncrementLogStartOffset(number, LogStartOffsetIncrementReason.ClientRecordDeletion);
                return shape();
            case "truncate": log.truncateTo(number); return shape();
            case "retain": Batches.now = number; log.deleteOldSegments(); return shape();
            case "time":
                return log.fetchOffsetByTimestamp(number, Optional.empty()).timestampAndOffsetOpt()
                    .map(found -> String.valueOf(found.offset)).orElse("none");
            case "cleanable": return cleanable(words);
            case "clean": return clean(words);
            case "crash": return crash(words);
            default: throw new IllegalStateException(words[0]);
        }
    }

    static String create(String[] words) throws Exception {
        Map<String, Object> settings = new HashMap<>();
        for (int i = 1; i < words.length; i++)
            settings.put(words[i].split("=")[0], words[i].split("=")[1]);
        config = new LogConfig(settings);
        folder = Files.createTempDirectory(new File(System.getProperty("folder")).toPath(), "d").toFile();
        folder = new File(folder, "t-0");
        Batches.now = 0;
        return open(0, 0, true);
    }

    static String open(long start, long recoveryPoint, boolean clean) throws Exception {
        log = UnifiedLog.create(folder, config, start, recoveryPoint, Batches.scheduler(),
            new BrokerTopicStats(false), Batches.clock(), Integer.MAX_VALUE,
            new ProducerStateManagerConfig(Integer.MAX_VALUE, false), Integer.MAX_VALUE,
            new LogDirFailureChannel(1), clean, Optional.empty());
        return shape();
    }

    static String append(String[] words) throws Exception {
        MemoryRecords records = Batches.parse(words[2]);
        Batches.now = Long.parseLong(words[1]);
        String sizes = Batches.sizes(records);
        log.appendAsFollower(records, Integer.MAX_VALUE);
        return sizes + " " + shape();
    }

    static String cleanable(String[] words) throws Exception {
        long now = Long.parseLong(words[1]);
        Optional<Long> checkpoint = words[2].equals("-") ? Optional.empty() : Optional.of(Long.parseLong(words[2]));
        LogCleanerManager.OffsetsToClean found = LogCleanerManager.cleanableOffsets(log, checkpoint, now);
        LogToClean part = new LogToClean(log, found.firstDirtyOffset(), found.firstUncleanableDirtyOffset(), false);
        Method delay = LogCleanerManager.class.getDeclaredMethod("maxCompactionDelay", UnifiedLog.class, long.class, long.class);
        delay.setAccessible(true);
        return log.lastStableOffset() + " " + found.firstDirtyOffset() + " " + found.firstUncleanableDirtyOffset()
            + " " + part.firstUncleanableOffset() + " " + part.cleanBytes() + " " + part.cleanableBytes()
            + " " + delay.invoke(null, log, found.firstDirtyOffset(), now);
    }

    /** Cleans, unless nothing is dirty; answers the LSO, the active producers, the end and the log. */
    static String clean(String[] words) throws Exception {
        Batches.now = Long.parseLong(words[1]);
        Optional<Long> checkpoint = words[2].equals("-") ? Optional.empty() : Optional.of(Long.parseLong(words[2]));
        long stable = log.lastStableOffset();
        List<String> producers = new ArrayList<>();
        for (Map.Entry<Long, LastRecord> entry : new TreeMap<>(log.lastRecordsOfActiveProducers()).entrySet())
            producers.add(entry.getKey() + ":" + entry.getValue().lastDataOffset.orElse(-1) + ":" + entry.getValue().producerEpoch);
        String known = stable + " " + (producers.isEmpty() ? "-" : String.join(",", producers)) + " ";
        LogCleanerManager.OffsetsToClean found = LogCleanerManager.cleanableOffsets(log, checkpoint, Batches.now);
        LogToClean part = new LogToClean(log, found.firstDirtyOffset(), found.firstUncleanableDirtyOffset(), false);
        if (part.cleanableBytes() == 0)
            return known + "nothing " + dump();
        Throttler throttler = new Throttler(Double.MAX_VALUE, Long.MAX_VALUE, "t", "t", Batches.clock());
        Cleaner cleaner = new Cleaner(0, new SmallMap(Integer.parseInt(words[3])), 1 << 16, 1 << 20,
            1.0, throttler, Batches.clock(), partition -> { });
        long end = cleaner.doClean(part, Batches.now).getKey();
        return known + end + " " + dump();
    }

    static String crash(String[] words) throws Exception {
        int damaged = Integer.parseInt(words[3]), count = 0;
        for (LogSegment segment : log.logSegments()) {
            int start = 0;
            for (RecordBatch batch : segment.log().batches()) {
                if (count++ == damaged)
                    damage(segment.log().file(), start + 20);
                start += batch.sizeInBytes();
            }
        }
        log.closeHandlers();
        open(Long.parseLong(words[2]), Long.parseLong(words[1]), false);
        List<String> epochs = new ArrayList<>();
        log.leaderEpochCache().epochEntries().forEach(entry -> epochs.add(entry.epoch + ":" + entry.startOffset));
        return log.recoveryPoint() + " " + (epochs.isEmpty() ? "-" : String.join(",", epochs)) + " " + shape() + " " + dump();
    }

    /** Changes the checksum of the batch of which this is byte 20. */
    static void damage(File path, int position) throws Exception {
        try (RandomAccessFile file = new RandomAccessFile(path, "rw")) {
            file.seek(position);
            int last = file.read();
            file.seek(position);
            file.write(last ^ 1);
        }
    }

    /** Log start and end, and of each segment the size, the entries of its indexes, and its age. */
    static String shape() throws Exception {
        List<String> segments = new ArrayList<>();
        for (LogSegment segment : log.logSegments())
            segments.add(segment.baseOffset() + ":" + segment.size() + ":" + segment.offsetIndex().entries()
                + ":" + segment.timeIndex().entries() + ":" + segment.maxTimestampSoFar());
        return log.logStartOffset() + " " + log.logEndOffset() + " " + String.join(",", segments);
    }

    static String dump() throws Exception {
        List<String> segments = new ArrayList<>();
        for (LogSegment segment : log.logSegments())
            segments.add(segment.baseOffset() + "=" + Batches.dump(segment.log()));
        return String.join(";", segments);
    }

    /** An offset map with room for a few keys, which are kept whole. */
    static class SmallMap implements OffsetMap {
        final Map<String, Long> offsets = new HashMap<>();
        final int slots;
        long latest = -1;

        SmallMap(int slots) { this.slots = slots; }
        public int slots() { return slots; }
        public void put(ByteBuffer key, long offset) { offsets.put(Batches.text(key), offset); latest = offset; }
        public long get(ByteBuffer key) { return offsets.getOrDefault(Batches.text(key), -1L); }
        public void updateLatestOffset(long offset) { latest = offset; }
        public void clear() { offsets.clear(); latest = -1; }
        public int size() { return offsets.size(); }
        public long latestOffset() { return latest; }
    }
}
