import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.Collection;
import java.util.Collections;
import java.util.Properties;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;

/** A consumer that polls, and does what standard input says: `stall MILLISECONDS` or `close`. */
public class Member {
    public static void main(String[] args) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", args[1]);
        for (int i = 3; i < args.length; i++) {
            settings.put(args[i].split("=", 2)[0], args[i].split("=", 2)[1]);
        }
        if (args[0].equals("create")) {
            try (Admin admin = Admin.create(settings)) {
                NewTopic topic = new NewTopic(args[2], 4, (short) 3);
                admin.createTopics(Collections.singleton(topic)).all().get();
            }
        } else if (args[0].equals("delete")) {
            try (Admin admin = Admin.create(settings)) {
                admin.deleteConsumerGroups(Collections.singleton(args[2])).all().get();
            }
        } else {
            consume(settings, args[2]);
        }
    }

    static void consume(Properties settings, String topic) throws Exception {
        String bytes = "org.apache.kafka.common.serialization.ByteArrayDeserializer";
        settings.put("key.deserializer", bytes);
        settings.put("value.deserializer", bytes);
        settings.put("auto.commit.interval.ms", "500");
        ConcurrentLinkedQueue<String> commands = new ConcurrentLinkedQueue<>();
        Thread reader = new Thread(() -> {
            BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
            in.lines().forEach(commands::add);
        });
        reader.setDaemon(true);
        reader.start();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings)) {
            consumer.subscribe(Collections.singleton(topic), new ConsumerRebalanceListener() {
                public void onPartitionsRevoked(Collection<TopicPartition> partitions) { }

                public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                    System.out.println("assigned " + consumer.assignment().size());
                }
            });
            while (true) {
                consumer.poll(Duration.ofMillis(100));
                String command = commands.poll();
                if (command != null && command.startsWith("stall")) {
                    Thread.sleep(Long.parseLong(command.split(" ")[1]));
                } else if (command != null) {
                    return;
                }
            }
        }
    }
}
