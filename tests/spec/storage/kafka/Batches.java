import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.ControlRecordType;
import org.apache.kafka.common.record.EndTransactionMarker;
import org.apache.kafka.common.record.FileRecords;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MemoryRecordsBuilder;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.Scheduler;

/** Batches as words of a scenario, and a clock and a scheduler that do what the scenario says. */
class Batches {
    static long now = 0;

    /**
     * Batches, separated by `+`. Each is `offset|epoch|producer|producer epoch|kind|records`, where
     * the kind is data, transactional, COMMIT or ABORT, and records are `timestamp:key:value`,
     * separated by `/`; `-` stands for null.
     */
    static MemoryRecords parse(String words) {
        ByteBuffer buffer = ByteBuffer.allocate(1 << 20);
        for (String word : words.split("\\+")) {
            String[] parts = word.split("\\|");
            long offset = Long.parseLong(parts[0]);
            int epoch = Integer.parseInt(parts[1]);
            long producer = Long.parseLong(parts[2]);
            short producerEpoch = Short.parseShort(parts[3]);
            String[] records = parts[5].split("/");
            if (parts[4].equals("COMMIT") || parts[4].equals("ABORT")) {
                long time = Long.parseLong(records[0].split(":")[0]);
                MemoryRecords.writeEndTransactionalMarker(buffer, offset, time, epoch, producer,
                    producerEpoch, new EndTransactionMarker(ControlRecordType.valueOf(parts[4]), 0));
                continue;
            }
            try (MemoryRecordsBuilder builder = new MemoryRecordsBuilder(buffer,
                    RecordBatch.CURRENT_MAGIC_VALUE, Compression.NONE, TimestampType.CREATE_TIME,
                    offset, RecordBatch.NO_TIMESTAMP, producer, producerEpoch,
                    producer < 0 ? -1 : 0, parts[4].equals("transactional"), false, epoch,
                    buffer.capacity())) {
                for (String record : records) {
                    String[] fields = record.split(":");
                    builder.append(Long.parseLong(fields[0]), bytes(fields[1]), bytes(fields[2]));
                }
                builder.build();
                buffer = builder.buffer().duplicate().clear().position(builder.buffer().position());
            }
        }
        buffer.flip();
        return MemoryRecords.readableRecords(buffer);
    }

    static byte[] bytes(String word) {
        return word.equals("-") ? null : word.getBytes(StandardCharsets.UTF_8);
    }

    static String sizes(MemoryRecords records) {
        List<String> sizes = new ArrayList<>();
        for (RecordBatch batch : records.batches())
            sizes.add(String.valueOf(batch.sizeInBytes()));
        return String.join(",", sizes);
    }

    static String text(ByteBuffer bytes) {
        return bytes == null ? "-" : StandardCharsets.UTF_8.decode(bytes.duplicate()).toString();
    }

    /** The batches of a file, as words like those that are parsed, with what compaction decides. */
    static String dump(FileRecords file) {
        List<String> words = new ArrayList<>();
        for (RecordBatch batch : file.batches()) {
            List<String> records = new ArrayList<>();
            String kind = batch.isTransactional() ? "transactional" : "data";
            if (batch.isControlBatch())
                kind = "control";
            for (Record record : batch) {
                if (batch.isControlBatch()) {
                    kind = ControlRecordType.parse(record.key()).name();
                    records.add(record.offset() + ":" + record.timestamp() + "::");
                } else {
                    records.add(record.offset() + ":" + record.timestamp() + ":"
                        + text(record.key()) + ":" + text(record.value()));
                }
            }
            long horizon = batch.deleteHorizonMs().orElse(-1L);
            words.add(batch.baseOffset() + "|" + batch.lastOffset() + "|" + batch.sizeInBytes()
                + "|" + batch.maxTimestamp() + "|" + batch.partitionLeaderEpoch() + "|"
                + batch.producerId() + "|" + batch.producerEpoch() + "|" + kind + "|" + horizon
                + "|" + String.join("/", records));
        }
        return words.isEmpty() ? "-" : String.join("+", words);
    }

    static Time clock() {
        return (Time) Proxy.newProxyInstance(Batches.class.getClassLoader(),
            new Class<?>[] {Time.class}, (proxy, method, arguments) ->
                method.getName().equals("milliseconds") ? now
                    : method.getReturnType() == long.class ? now * 1000000 : null);
    }

    static Scheduler scheduler() {
        return (Scheduler) Proxy.newProxyInstance(Batches.class.getClassLoader(),
            new Class<?>[] {Scheduler.class}, (proxy, method, arguments) -> null);
    }
}
