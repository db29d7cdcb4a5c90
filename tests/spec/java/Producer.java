// An idempotent producer of Java's client, for tests/spec/test_java_producer.py.
//
// Arguments: the bootstrap server, and settings. It reads "PARTITION VALUE" from standard input, sends
// the value, and prints "acknowledged VALUE OFFSET" or "failed VALUE ERROR" when it knows.

import java.util.Properties;
import java.util.Scanner;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

public class Producer {
    public static void main(String[] args) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", args[0]);
        settings.put("key.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        settings.put("value.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        for (int i = 1; i < args.length; i++) {
            String[] setting = args[i].split("=", 2);
            settings.put(setting[0], setting[1]);
        }
        KafkaProducer<String, String> producer = new KafkaProducer<>(settings);
        Scanner commands = new Scanner(System.in);
        while (commands.hasNext()) {
            int partition = commands.nextInt();
            String value = commands.next();
            producer.send(new ProducerRecord<>("orders", partition, null, value), (at, error) ->
                System.out.println(error == null
                    ? "acknowledged " + value + " " + at.offset()
                    : "failed " + value + " " + error.getClass().getSimpleName()));
        }
    }
}
