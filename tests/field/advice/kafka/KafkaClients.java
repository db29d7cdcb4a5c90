import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.util.Properties;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;

/**
 * Makes clients of the Kafka on the class path. Each line of input is `producer` or `consumer` and
 * its settings; each line of output is what the client made of them, or why it refused them.
 * No client is closed, since old releases wait for a broker then.
 */
public class KafkaClients {
    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = input.readLine()) != null; ) {
            String[] words = line.trim().split(" +");
            Properties settings = new Properties();
            settings.put("bootstrap.servers", "127.0.0.1:1");
            String serialization = "org.apache.kafka.common.serialization.ByteArray";
            for (String side : new String[] {"key", "value"}) {
                String suffix = words[0].equals("producer") ? "serializer" : "deserializer";
                settings.put(side + "." + suffix,
                    serialization + suffix.substring(0, 1).toUpperCase() + suffix.substring(1));
            }
            for (int i = 1; i < words.length; i++)
                settings.put(words[i].split("=")[0], words[i].split("=")[1]);
            System.out.println(words[0].equals("producer") ? producer(settings) : consumer(settings));
        }
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    static String producer(Properties settings) throws Exception {
        try {
            KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings);
            Object sender = field(producer, "sender");
            String idempotent = "false";
            try {
                Object manager = field(producer, "transactionManager");
                idempotent = String.valueOf(manager != null);
            } catch (NoSuchFieldException before) {
                // releases without idempotence
            }
            String answer = "acks=" + field(sender, "acks") + " retries=" + field(sender, "retries")
                + " idempotent=" + idempotent;
            return answer;
        } catch (RuntimeException refused) {
            return "refused: " + root(refused);
        }
    }

    static String consumer(Properties settings) {
        settings.putIfAbsent("group.id", "g");
        try {
            new KafkaConsumer<byte[], byte[]>(settings);
            return "accepted";
        } catch (RuntimeException refused) {
            return "refused: " + root(refused);
        }
    }

    static Object field(Object owner, String name) throws Exception {
        Field field = owner.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field.get(owner);
    }

    static String root(Throwable error) {
        while (error.getCause() != null) error = error.getCause();
        return String.valueOf(error.getMessage()).replace("\n", " ");
    }
}
