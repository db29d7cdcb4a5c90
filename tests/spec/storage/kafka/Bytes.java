import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.TreeMap;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MemoryRecordsBuilder;
import org.apache.kafka.common.record.MutableRecordBatch;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.storage.internals.checkpoint.LeaderEpochCheckpointFile;
import org.apache.kafka.storage.internals.checkpoint.OffsetCheckpointFile;

/** Answers each line of its input with a line: what Kafka's own classes make of the same bytes. */
public class Bytes {
    static final HexFormat HEX = HexFormat.of();

    public static void main(String[] arguments) throws Exception {
        var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ", -1);
            System.out.println(switch (words[0]) {
                case "read" -> read(HEX.parseHex(words[1]));
                case "write" -> write(words);
                case "message" -> message(words);
                case "epochs", "offsets" -> checkpoint(words[0], HEX.parseHex(words[1]));
                default -> throw new IllegalArgumentException(words[0]);
            });
        }
    }

    static String read(byte[] data) {
        try {
            var text = new StringBuilder();
            for (MutableRecordBatch batch : MemoryRecords.readableRecords(ByteBuffer.wrap(data)).batches()) {
                batch.ensureValid();
                text.append(described(batch));
            }
            return text.toString();
        } catch (RuntimeException error) {
            return "error";
        }
    }

    static String described(MutableRecordBatch batch) {
        var text = new StringBuilder();
        text.append(batch.magic()).append(' ').append(batch.lastOffset());
        text.append(' ').append(batch.partitionLeaderEpoch()).append(' ').append(batch.compressionType().id);
        text.append(' ').append(batch.timestampType() == TimestampType.LOG_APPEND_TIME ? 1 : 0);
        text.append(batch.isTransactional() ? 1 : 0).append(batch.isControlBatch() ? 1 : 0);
        text.append(' ').append(batch.deleteHorizonMs().orElse(-1)).append(' ').append(batch.maxTimestamp());
        text.append(' ').append(batch.producerId()).append(' ').append(batch.producerEpoch());
        text.append(' ').append(batch.baseSequence()).append(' ').append(batch.lastSequence());
        for (Record record : batch) {
            text.append(" | ").append(record.offset()).append(' ').append(record.timestamp());
            text.append(' ').append(hex(record.key())).append(' ').append(hex(record.value()));
            for (Header header : record.headers()) {
                text.append(' ').append(HEX.formatHex(header.key().getBytes(StandardCharsets.UTF_8)));
                text.append(':').append(header.value() == null ? "null" : HEX.formatHex(header.value()));
            }
        }
        return text.toString();
    }

    static String hex(ByteBuffer buffer) {
        if (buffer == null) return "null";
        byte[] data = new byte[buffer.remaining()];
        buffer.duplicate().get(data);
        return HEX.formatHex(data);
    }

    static byte[] bytes(String word) {
        return word.equals("null") ? null : HEX.parseHex(word);
    }

    /**
     * write MAGIC CODEC APPENDTIME TRANSACTIONAL BASE PID EPOCH SEQUENCE LEADEREPOCH, then
     * TIME KEY VALUE HEADERS for each record.
     */
    static String write(String[] words) {
        byte magic = Byte.parseByte(words[1]);
        var codec = Compression.of(CompressionType.forId(Integer.parseInt(words[2]))).build();
        boolean appendTime = words[3].equals("1");
        var kind = magic == 0 ? TimestampType.NO_TIMESTAMP_TYPE
            : appendTime ? TimestampType.LOG_APPEND_TIME : TimestampType.CREATE_TIME;
        MemoryRecordsBuilder builder = MemoryRecords.builder(ByteBuffer.allocate(1024), magic, codec, kind,
            Long.parseLong(words[5]), appendTime ? 1234567890123L : -1L, Long.parseLong(words[6]),
            Short.parseShort(words[7]), Integer.parseInt(words[8]), words[4].equals("1"), false, Integer.parseInt(words[9]));
        for (int at = 10; at + 3 < words.length; at += 4) {
            List<Header> headers = new ArrayList<>();
            if (!words[at + 3].equals("-")) {
                for (String header : words[at + 3].split(",")) {
                    String[] parts = header.split(":", -1);
                    headers.add(new RecordHeader(new String(HEX.parseHex(parts[0]), StandardCharsets.UTF_8), bytes(parts[1])));
                }
            }
            builder.append(magic == 0 ? -1L : Long.parseLong(words[at]), bytes(words[at + 1]), bytes(words[at + 2]),
                headers.toArray(new Header[0]));
        }
        return hex(builder.build().buffer());
    }

    /** message AREA TYPE VERSION KEY VALUE: the bytes as Kafka writes them anew, and the values. */
    static String message(String[] words) throws Exception {
        String area = words[1];
        var types = Class.forName("org.apache.kafka.coordinator." + area + ".generated.CoordinatorRecordType");
        Object type = types.getMethod("fromId", short.class).invoke(null, Short.parseShort(words[2]));
        var key = (ApiMessage) types.getMethod("newRecordKey").invoke(type);
        var value = (ApiMessage) types.getMethod("newRecordValue").invoke(type);
        short version = Short.parseShort(words[3]);
        return again(key, (short) 0, words[4], area) + " " + again(value, version, words[5], area);
    }

    static String again(ApiMessage message, short version, String hex, String area) throws Exception {
        ByteBuffer data = ByteBuffer.wrap(HEX.parseHex(hex));
        message.read(new ByteBufferAccessor(data), version);
        var converter = Class.forName(message.getClass().getName() + "JsonConverter");
        Object json = converter.getMethod("write", message.getClass(), short.class).invoke(null, message, version);
        return hex(MessageUtil.toByteBufferAccessor(message, version).buffer()) + " " + json.toString().replace(" ", "\\u0020");
    }

    static String checkpoint(String kind, byte[] text) throws Exception {
        Path folder = Files.createTempDirectory("checkpoint");
        Path file = folder.resolve("checkpoint");
        try {
            Files.write(file, text);
            var entries = new StringBuilder();
            if (kind.equals("epochs")) {
                for (var entry : new LeaderEpochCheckpointFile(file.toFile(), null).read())
                    entries.append(entry.epoch).append(':').append(entry.startOffset).append(' ');
            } else {
                var ordered = new TreeMap<String, Long>();
                for (var entry : new OffsetCheckpointFile(file.toFile(), null).read().entrySet()) {
                    TopicPartition name = entry.getKey();
                    ordered.put(name.topic() + ":" + name.partition(), entry.getValue());
                }
                entries.append(ordered);
            }
            return entries.toString().strip();
        } catch (Exception error) {
            return "error";
        } finally {
            Files.delete(file);
            Files.delete(folder);
        }
    }
}
