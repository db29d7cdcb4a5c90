// A consumer of Java's client that polls on command, for tests/spec/test_java_consumer.py.
//
// Arguments: the bootstrap server, and settings. It reads "poll", "pause", "resume" and "close" from
// standard input, and prints what happens: "assigned", "revoked", "record OFFSET", and last "done".

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Properties;
import java.util.Scanner;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;

public class Member {
    public static void main(String[] args) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", args[0]);
        settings.put("key.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        settings.put("value.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        for (int i = 1; i < args.length; i++) {
            String[] setting = args[i].split("=", 2);
            settings.put(setting[0], setting[1]);
        }
        KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings);
        consumer.subscribe(List.of("orders"), new ConsumerRebalanceListener() {
            public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                if (!partitions.isEmpty()) System.out.println("assigned");
            }

            public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
                if (!partitions.isEmpty()) System.out.println("revoked");
            }
        });
        Scanner commands = new Scanner(System.in);
        while (commands.hasNextLine()) {
            switch (commands.nextLine()) {
                case "pause": consumer.pause(consumer.assignment()); break;
                case "resume": consumer.resume(consumer.paused()); break;
                case "close": consumer.close(); break;
                default:
                    for (ConsumerRecord<String, String> r : consumer.poll(Duration.ofMillis(100))) {
                        System.out.println("record " + r.offset());
                    }
            }
            System.out.println("done");
        }
    }
}
