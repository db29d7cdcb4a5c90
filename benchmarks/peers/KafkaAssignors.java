import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/**
 * Asks Kafka's own assignors, over standard input and output; see kafka_java.py for the other end.
 *
 * A question: the strategy, how often to measure, the topics (name, size, whether racks follow, and
 * then for each partition how many replicas and the rack of each), the members (id, instance id,
 * rack, generation, generation of the field, topics by number, owned partitions). Texts are written
 * as a dot and their UTF-16 units in hex, what is absent as "-". Or: "again", and how often to
 * measure the same question once more.
 */
public class KafkaAssignors {
    private static final InputStream IN = new BufferedInputStream(System.in, 1 << 20);

    private static String strategy;
    private static Cluster cluster;
    private static Map<String, Subscription> members;
    private static Map<String, Integer> numbers;

    public static void main(String[] args) throws IOException {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.US_ASCII);
        for (String strategy = word(); strategy != null; strategy = word()) {
            if (strategy.equals("again"))
                answer(number(), out);
            else
                ask(strategy, number(), out);
            out.flush();
        }
    }

    private static void ask(String asked, int measurements, PrintStream out) throws IOException {
        strategy = asked;
        numbers = new HashMap<>();
        Map<String, Node> nodes = new HashMap<>();
        List<PartitionInfo> partitions = new ArrayList<>();
        String[] topics = new String[number()];
        for (int t = 0; t < topics.length; t++) {
            topics[t] = text();
            numbers.put(topics[t], t);
            int size = number();
            boolean racks = number() == 1;
            for (int p = 0; p < size; p++) {
                Node[] replicas = new Node[racks ? number() : 0];
                for (int r = 0; r < replicas.length; r++) {
                    String rack = text();
                    replicas[r] = nodes.computeIfAbsent(
                        String.valueOf(rack), key -> new Node(nodes.size(), "host", 9092, rack));
                }
                partitions.add(new PartitionInfo(topics[t], p, Node.noNode(), replicas, replicas));
            }
        }
        cluster = new Cluster("cluster", new HashSet<>(nodes.values()), partitions, Set.of(), Set.of());
        members = members(strategy, topics);
        answer(measurements, out);
    }

    private static void answer(int measurements, PrintStream out) {
        List<Long> nanoseconds = new ArrayList<>();
        Map<String, ConsumerPartitionAssignor.Assignment> result = null;
        try {
            for (int i = 0; i < Math.max(1, measurements); i++) {
                // What an assignor reads of the user data stays read.
                members.values().forEach(m -> Optional.ofNullable(m.userData()).ifPresent(ByteBuffer::rewind));
                ConsumerPartitionAssignor assignor = assignor(strategy);
                long begin = System.nanoTime();
                result = assignor.assign(cluster, new GroupSubscription(members)).groupAssignment();
                nanoseconds.add(System.nanoTime() - begin);
            }
        } catch (RuntimeException e) {
            out.println("raises " + e.getClass().getSimpleName());
            return;
        }
        if (measurements > 0) {
            StringBuilder line = new StringBuilder("took");
            nanoseconds.forEach(n -> line.append(' ').append(n));
            out.println(line);
            return;
        }
        StringBuilder line = new StringBuilder("assigns");
        for (String member : members.keySet()) {
            List<TopicPartition> assigned = result.get(member).partitions();
            line.append(' ').append(assigned.size());
            for (TopicPartition tp : assigned)
                line.append(' ').append(numbers.get(tp.topic())).append(' ').append(tp.partition());
        }
        out.println(line);
    }

    private static Map<String, Subscription> members(String strategy, String[] topics) throws IOException {
        Map<String, Subscription> members = new HashMap<>();
        int count = number();
        for (int m = 0; m < count; m++) {
            String id = text();
            String instanceId = text();
            String rack = text();
            Integer generation = numberOrNull();
            Integer fieldGeneration = numberOrNull();
            List<String> subscribed = new ArrayList<>();
            for (int left = number(); left > 0; left--)
                subscribed.add(topics[number()]);
            List<TopicPartition> owned = new ArrayList<>();
            for (int left = number(); left > 0; left--)
                owned.add(new TopicPartition(topics[number()], number()));
            Subscription subscription = new Subscription(
                subscribed,
                strategy.equals("sticky") ? stickyUserData(owned, generation) : cooperativeUserData(generation),
                owned,
                fieldGeneration == null ? -1 : fieldGeneration,
                Optional.ofNullable(rack));
            subscription.setGroupInstanceId(Optional.ofNullable(instanceId));
            members.put(id, subscription);
        }
        return members;
    }

    private static ConsumerPartitionAssignor assignor(String strategy) {
        switch (strategy) {
            case "range": return new RangeAssignor();
            case "roundrobin": return new RoundRobinAssignor();
            case "sticky": return new StickyAssignor();
            case "cooperative-sticky": return new CooperativeStickyAssignor();
            default: throw new IllegalArgumentException(strategy);
        }
    }

    /** Partitions one by one, so that they keep their order, then the generation if there is one. */
    private static ByteBuffer stickyUserData(List<TopicPartition> owned, Integer generation) {
        if (owned.isEmpty() && generation == null)
            return null;
        int size = 8;
        for (TopicPartition tp : owned)
            size += 2 + tp.topic().getBytes(StandardCharsets.UTF_8).length + 8;
        ByteBuffer data = ByteBuffer.allocate(size);
        data.putInt(owned.size());
        for (TopicPartition tp : owned) {
            byte[] topic = tp.topic().getBytes(StandardCharsets.UTF_8);
            data.putShort((short) topic.length).put(topic).putInt(1).putInt(tp.partition());
        }
        if (generation != null)
            data.putInt(generation);
        data.flip();
        return data;
    }

    private static ByteBuffer cooperativeUserData(Integer generation) {
        if (generation == null)
            return null;
        ByteBuffer data = ByteBuffer.allocate(4);
        data.putInt(generation).flip();
        return data;
    }

    private static String word() throws IOException {
        int c = IN.read();
        while (c == ' ' || c == '\n')
            c = IN.read();
        if (c < 0)
            return null;
        StringBuilder word = new StringBuilder();
        for (; c > ' '; c = IN.read())
            word.append((char) c);
        return word.toString();
    }

    private static int number() throws IOException {
        return Integer.parseInt(word());
    }

    private static Integer numberOrNull() throws IOException {
        String word = word();
        return word.equals("-") ? null : Integer.valueOf(word);
    }

    private static String text() throws IOException {
        String word = word();
        if (word.equals("-"))
            return null;
        StringBuilder text = new StringBuilder();
        for (int i = 1; i < word.length(); i += 4)
            text.append((char) Integer.parseInt(word.substring(i, i + 4), 16));
        return text.toString();
    }
}
