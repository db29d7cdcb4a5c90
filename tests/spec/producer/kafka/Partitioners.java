import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Scanner;
import java.util.Set;
import java.util.StringJoiner;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.kafka.clients.producer.Partitioner;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;

/**
 * Asks a class that implements Partitioner. A line is a seed, a number of partitions, and steps:
 * `a0,2` these have a leader, `n` a record without a key, `k0aff` one with this key, `b3` a new
 * batch in partition 3, `r0,2` a record as KafkaProducer.doSend sends it if these partitions have an
 * open batch. The answer has the partition of each record.
 */
public class Partitioners {
    static final String PACKAGE = "org.apache.kafka.clients.producer.";

    public static void main(String[] arguments) throws Exception {
        String name = arguments[0].startsWith("default-") ? "internals.DefaultPartitioner"
            : arguments[0].equals("round-robin") ? "RoundRobinPartitioner" : "UniformStickyPartitioner";
        Class<?> type = Class.forName(PACKAGE + name);
        Field seed = threadField("threadLocalRandomSeed");
        threadField("tid").setLong(Thread.currentThread(), 0);  // since Java 17 the numbers depend on it
        Scanner input = new Scanner(System.in);
        StringBuilder output = new StringBuilder();
        while (input.hasNextLine()) {
            String[] words = input.nextLine().split(" ");
            ThreadLocalRandom.current();
            seed.setLong(Thread.currentThread(), Long.parseLong(words[0]));
            Partitioner partitioner = (Partitioner) type.getDeclaredConstructor().newInstance();
            output.append(answer(partitioner, words)).append('\n');
        }
        System.out.print(output);
    }

    static Field threadField(String name) throws Exception {
        Field field = Thread.class.getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }

    static String answer(Partitioner partitioner, String[] words) throws Exception {
        int partitions = Integer.parseInt(words[1]);
        Cluster cluster = null;
        Method onNewBatch = null;
        for (Method each : Partitioner.class.getMethods())
            if (each.getName().equals("onNewBatch")) onNewBatch = each;
        StringJoiner chosen = new StringJoiner(" ");
        for (int i = 2; i < words.length; i++) {
            String rest = words[i].substring(1);
            switch (words[i].charAt(0)) {
                case 'a':
                    cluster = cluster(partitions, rest);
                    break;
                case 'b':
                    onNewBatch.invoke(partitioner, "t", cluster, Integer.parseInt(rest));
                    break;
                case 'r':
                    int first = partitioner.partition("t", null, null, null, null, cluster);
                    if (onNewBatch != null && !Arrays.asList(rest.split(",")).contains("" + first)) {
                        onNewBatch.invoke(partitioner, "t", cluster, first);
                        first = partitioner.partition("t", null, null, null, null, cluster);
                    }
                    chosen.add("" + first);
                    break;
                default:
                    byte[] key = words[i].charAt(0) == 'n' ? null : bytes(rest);
                    chosen.add("" + partitioner.partition("t", key, key, null, null, cluster));
            }
        }
        return chosen.toString();
    }

    static Cluster cluster(int partitions, String available) {
        Set<String> led = new HashSet<>(Arrays.asList(available.split(",")));
        Node node = new Node(1, "localhost", 9092);
        Node[] none = new Node[0];
        List<PartitionInfo> all = new ArrayList<>();
        for (int i = 0; i < partitions; i++)
            all.add(new PartitionInfo("t", i, led.contains("" + i) ? node : null, none, none));
        return new Cluster("c", Collections.singletonList(node), all,
            Collections.emptySet(), Collections.emptySet());
    }

    static byte[] bytes(String hex) {
        byte[] found = new byte[hex.length() / 2];
        for (int i = 0; i < found.length; i++)
            found[i] = (byte) Integer.parseInt(hex.substring(2 * i, 2 * i + 2), 16);
        return found;
    }
}
