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
import java.util.stream.Stream;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.utils.LogContext;

/**
 * Asks BuiltInPartitioner. A line is a seed, a number of partitions, batch.size, and steps: `a0,2`
 * these have a leader, `l3,0,1/0,1,2/2` queue sizes, partitions and how many of them count, `u100+`
 * 100 bytes appended and the last batch is full (`-`: it is not). The answer has the sticky
 * partition after each step but the first.
 */
public class BuiltIn {
    public static void main(String[] arguments) throws Exception {
        Field seed = threadField("threadLocalRandomSeed");
        threadField("tid").setLong(Thread.currentThread(), 0);  // since Java 17 the numbers depend on it
        Method peek = method("peekCurrentPartitionInfo", Cluster.class);
        Method update = method("updatePartitionInfo", BuiltInPartitioner.StickyPartitionInfo.class,
            int.class, Cluster.class, boolean.class);
        Scanner input = new Scanner(System.in);
        StringBuilder output = new StringBuilder();
        while (input.hasNextLine()) {
            String[] words = input.nextLine().split(" ");
            ThreadLocalRandom.current();
            seed.setLong(Thread.currentThread(), Long.parseLong(words[0]));
            int partitions = Integer.parseInt(words[1]);
            BuiltInPartitioner partitioner =
                new BuiltInPartitioner(new LogContext(), "t", Integer.parseInt(words[2]));
            Cluster cluster = cluster(partitions, words[3].substring(1));
            StringJoiner chosen = new StringJoiner(" ");
            for (int i = 4; i < words.length; i++) {
                String rest = words[i].substring(1);
                switch (words[i].charAt(0)) {
                    case 'a':
                        cluster = cluster(partitions, rest);
                        break;
                    case 'l':
                        String[] parts = rest.split("/");
                        partitioner.updatePartitionLoadStats(
                            ints(parts[0]), ints(parts[1]), Integer.parseInt(parts[2]));
                        break;
                    default:
                        int bytes = Integer.parseInt(rest.substring(0, rest.length() - 1));
                        update.invoke(partitioner, peek.invoke(partitioner, cluster), bytes, cluster,
                            rest.endsWith("+"));
                }
                chosen.add("" + ((BuiltInPartitioner.StickyPartitionInfo)
                    peek.invoke(partitioner, cluster)).partition());
            }
            output.append(chosen).append('\n');
        }
        System.out.print(output);
    }

    static int[] ints(String text) {
        return Stream.of(text.split(",")).mapToInt(Integer::parseInt).toArray();
    }

    static Method method(String name, Class<?>... types) throws Exception {
        Method method = BuiltInPartitioner.class.getDeclaredMethod(name, types);
        method.setAccessible(true);
        return method;
    }

    static Field threadField(String name) throws Exception {
        Field field = Thread.class.getDeclaredField(name);
        field.setAccessible(true);
        return field;
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
}
