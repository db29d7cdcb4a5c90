import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.kafka.clients.ApiVersions;
import org.apache.kafka.clients.producer.internals.BufferPool;
import org.apache.kafka.clients.producer.internals.ProducerBatch;
import org.apache.kafka.clients.producer.internals.RecordAccumulator;
import org.apache.kafka.clients.producer.internals.TransactionManager;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;

/**
 * Asks RecordAccumulator which batches are sent. A line is linger.ms, retry.backoff.ms,
 * retry.backoff.max.ms, partitioner.availability.timeout.ms, flags (`-`: none, `x` memory is
 * exhausted, `c` closed, `f` flushing, `t` a transaction is completing), the latency of each
 * broker, and partitions: leader (`-`: none), batches (`-`: nothing was ever sent), whether the
 * first is full, its waiting time and attempts, whether its leader has changed, and whether it is
 * muted. The answer has the ready brokers, the wait, whether a leader is unknown, the partitions
 * drained for each broker, and the weights of partitions.
 *
 * Constructors and methods differ between releases: their arguments are supplied by type, in order.
 */
public class Accumulator {
    static final int BATCH = 200;
    static final long NOW = 1_000_000;

    public static void main(String[] arguments) throws Exception {
        Scanner input = new Scanner(System.in);
        StringBuilder output = new StringBuilder();
        while (input.hasNextLine()) output.append(answer(input.nextLine().split(" "))).append('\n');
        System.out.print(output);
    }

    static String answer(String[] words) throws Exception {
        int linger = Integer.parseInt(words[0]);
        long backoff = Long.parseLong(words[1]), most = Long.parseLong(words[2]);
        String flags = words[4];
        String[] latencies = words[5].split(",");
        int partitions = words.length - 6;
        List<Node> nodes = new ArrayList<>();
        for (int i = 0; i < latencies.length; i++) nodes.add(new Node(i, "localhost", 9092 + i));
        Node[] none = new Node[0];
        List<PartitionInfo> infos = new ArrayList<>();
        for (int i = 0; i < partitions; i++) {
            String leader = words[6 + i].split("/")[0];
            Node node = leader.equals("-") ? null : nodes.get(Integer.parseInt(leader));
            infos.add(new PartitionInfo("t", i, node, none, none));
        }
        Cluster cluster = new Cluster("c", nodes, infos, Collections.emptySet(), Collections.emptySet());
        Time time = (Time) Proxy.newProxyInstance(Time.class.getClassLoader(), new Class<?>[] {Time.class},
            (proxy, method, values) -> method.getName().equals("nanoseconds") ? NOW * 1_000_000 : (Object) NOW);
        Metrics metrics = new Metrics();
        BufferPool pool = new BufferPool(1 << 24, BATCH, metrics, time, "g");
        TransactionManager manager = flags.contains("t") ? completing() : null;
        RecordAccumulator accumulator = accumulator(linger, backoff, most, Long.parseLong(words[3]), metrics, time, manager, pool);
        Set<TopicPartition> muted = new HashSet<>();
        for (int i = 0; i < partitions; i++) {
            String[] parts = words[6 + i].split("/");
            if (parts[1].equals("-")) continue;
            int batches = Integer.parseInt(parts[1]);
            boolean full = parts[2].equals("+");
            for (int j = 0; j < Math.max(batches, 1); j++) append(accumulator, cluster, i, 500);
            Deque<ProducerBatch> queue = queue(accumulator, i);
            if (full) call(queue.peekLast(), "closeForRecordAppends");
            if (batches == 0) queue.clear();
            ProducerBatch first = queue.peekFirst();
            if (first != null) {
                int attempts = Integer.parseInt(parts[4]);
                set(first, "lastAttemptMs", NOW - Long.parseLong(parts[3]));
                set(first, "attempts", new AtomicInteger(attempts));
                if (has(first, "attemptsWhenLeaderLastChanged"))
                    set(first, "attemptsWhenLeaderLastChanged", parts[5].equals("+") ? attempts : -1);
            }
            if (parts[6].equals("m")) accumulator.mutePartition(new TopicPartition("t", i));
        }
        latency(accumulator, latencies);
        if (flags.contains("x"))
            ((Deque<Object>) get(pool, "waiters")).add(new ReentrantLock().newCondition());
        if (flags.contains("f")) accumulator.beginFlush();
        if (flags.contains("c")) set(accumulator, "closed", true);
        Object snapshot = snapshot(cluster, infos, nodes);
        Object ready = call(accumulator, "ready", snapshot, NOW);
        Set<Node> readyNodes = (Set<Node>) get(ready, "readyNodes");
        TreeSet<Integer> ids = new TreeSet<>();
        for (Node node : readyNodes) ids.add(node.id());
        long wait = (Long) get(ready, "nextReadyCheckDelayMs");
        String unknown = has(ready, "unknownLeaderTopics")
            ? "" + !((Set<?>) get(ready, "unknownLeaderTopics")).isEmpty() : "?";
        String load = load(accumulator);
        String drained = "?";
        if (manager == null) {
            Map<Integer, String> found = new TreeMap<>();
            Map<Integer, List<ProducerBatch>> batches = (Map<Integer, List<ProducerBatch>>)
                call(accumulator, "drain", snapshot, readyNodes, Integer.MAX_VALUE, NOW);
            for (Integer id : batches.keySet()) {
                TreeSet<Integer> sent = new TreeSet<>();
                for (ProducerBatch batch : batches.get(id))
                    sent.add(((TopicPartition) get(batch, "topicPartition")).partition());
                found.put(id, id + ":" + join(sent));
            }
            drained = String.join(";", found.values());
        }
        metrics.close();
        return "ready=" + join(ids) + " wait=" + (wait == Long.MAX_VALUE ? "-" : wait)
            + " unknown=" + unknown + " sent=" + drained + " load=" + load;
    }

    static String join(Iterable<Integer> numbers) {
        List<String> found = new ArrayList<>();
        for (Integer number : numbers) found.add(number.toString());
        return String.join(",", found);
    }

    static RecordAccumulator accumulator(int linger, long backoff, long most, long timeout,
            Metrics metrics, Time time, TransactionManager manager, BufferPool pool) throws Exception {
        Constructor<?> longest = null;
        for (Constructor<?> each : RecordAccumulator.class.getConstructors())
            if (longest == null || each.getParameterCount() > longest.getParameterCount()) longest = each;
        Deque<Object> ints = new ArrayDeque<>(List.of(BATCH, linger, 120_000));
        Deque<Object> longs = new ArrayDeque<>(List.of(backoff, most));
        List<Object> values = new ArrayList<>();
        for (Class<?> type : longest.getParameterTypes()) {
            String name = type.getSimpleName();
            if (type == int.class) values.add(ints.poll());
            else if (type == long.class) values.add(longs.poll());
            else if (name.equals("LogContext")) values.add(new LogContext());
            else if (name.equals("CompressionType")) values.add(get(type, "NONE"));
            else if (name.equals("Compression")) values.add(get(type, "NONE"));
            else if (name.equals("PartitionerConfig"))
                values.add(type.getConstructor(boolean.class, long.class).newInstance(true, timeout));
            else if (type == Metrics.class) values.add(metrics);
            else if (type == String.class) values.add("g");
            else if (type == Time.class) values.add(time);
            else if (name.equals("ApiVersions")) values.add(new ApiVersions());
            else if (name.equals("TransactionManager")) values.add(manager);
            else if (name.equals("BufferPool")) values.add(pool);
            else throw new IllegalStateException("" + type);
        }
        RecordAccumulator made = (RecordAccumulator) longest.newInstance(values.toArray());
        if (has(made, "retryBackoff")) {  // without jitter
            Class<?> type = RecordAccumulator.class.getDeclaredField("retryBackoff").getType();
            set(made, "retryBackoff", type.getConstructor(long.class, int.class, long.class, double.class)
                .newInstance(backoff, 2, most, 0.0));
        }
        return made;
    }

    static TransactionManager completing() throws Exception {
        Constructor<?> made = null;
        for (Constructor<?> each : TransactionManager.class.getDeclaredConstructors())
            if (made == null || each.getParameterCount() > made.getParameterCount()) made = each;
        List<Object> values = new ArrayList<>();
        for (Class<?> type : made.getParameterTypes()) {
            if (type == int.class) values.add(1000);
            else if (type == long.class) values.add(100L);
            else if (type == boolean.class) values.add(false);
            else if (type == String.class) values.add("id");
            else if (type == LogContext.class) values.add(new LogContext());
            else values.add(new ApiVersions());
        }
        made.setAccessible(true);
        TransactionManager manager = (TransactionManager) made.newInstance(values.toArray());
        Field state = TransactionManager.class.getDeclaredField("currentState");
        for (Object each : state.getType().getEnumConstants())
            if (each.toString().equals("COMMITTING_TRANSACTION")) set(manager, "currentState", each);
        return manager;
    }

    static void append(RecordAccumulator accumulator, Cluster cluster, int partition, int size)
            throws Exception {
        Method method = named(RecordAccumulator.class, "append");
        Deque<Object> longs = new ArrayDeque<>(List.of(NOW, 0L, NOW));
        Deque<byte[]> bytes = new ArrayDeque<>(List.of(new byte[0], new byte[size]));
        List<Object> values = new ArrayList<>();
        for (Class<?> type : method.getParameterTypes()) {
            if (type == TopicPartition.class) values.add(new TopicPartition("t", partition));
            else if (type == String.class) values.add("t");
            else if (type == int.class) values.add(partition);
            else if (type == long.class) values.add(longs.poll());
            else if (type == byte[].class) values.add(bytes.poll());
            else if (type == boolean.class) values.add(false);
            else if (type == Cluster.class) values.add(cluster);
            else values.add(null);
        }
        method.invoke(accumulator, values.toArray());
    }

    static Deque<ProducerBatch> queue(RecordAccumulator accumulator, int partition) throws Exception {
        if (has(accumulator, "batches"))
            return (Deque<ProducerBatch>) ((Map<?, ?>) get(accumulator, "batches"))
                .get(new TopicPartition("t", partition));
        Object info = ((Map<?, ?>) get(accumulator, "topicInfoMap")).get("t");
        return (Deque<ProducerBatch>) ((Map<?, ?>) get(info, "batches")).get(partition);
    }

    static void latency(RecordAccumulator accumulator, String[] latencies) throws Exception {
        Method update = named(RecordAccumulator.class, "updateNodeLatencyStats");
        if (update == null) return;
        for (int i = 0; i < latencies.length; i++) {
            update.invoke(accumulator, i, NOW - Long.parseLong(latencies[i]), true);
            update.invoke(accumulator, i, NOW, false);
        }
    }

    static String load(RecordAccumulator accumulator) throws Exception {
        if (!has(accumulator, "topicInfoMap")) return "?";
        Object info = ((Map<?, ?>) get(accumulator, "topicInfoMap")).get("t");
        Object stats = info == null ? null
            : get(get(info, "builtInPartitioner"), "partitionLoadStats");
        if (stats == null) return "-";
        List<String> found = new ArrayList<>();
        int[] weights = (int[]) get(stats, "cumulativeFrequencyTable");
        int[] ids = (int[]) get(stats, "partitionIds");
        for (int i = 0; i < (Integer) get(stats, "length"); i++) found.add(ids[i] + ":" + weights[i]);
        return String.join(",", found);
    }

    /** The cluster, or since 3.7 the snapshot of metadata with it. */
    static Object snapshot(Cluster cluster, List<PartitionInfo> infos, List<Node> nodes) throws Exception {
        Class<?> type = named(RecordAccumulator.class, "ready").getParameterTypes()[0];
        if (type == Cluster.class) return cluster;
        Constructor<?> made = null;
        for (Constructor<?> each : type.getDeclaredConstructors()) {
            List<Class<?>> types = List.of(each.getParameterTypes());
            if (types.contains(Cluster.class)) made = each;
        }
        made.setAccessible(true);
        List<Object> values = new ArrayList<>();
        for (Class<?> each : made.getParameterTypes()) {
            if (each == String.class) values.add("c");
            else if (each == Map.class) values.add(new HashMap<>());
            else if (each == java.util.Collection.class) values.add(new ArrayList<>());
            else if (each == Set.class) values.add(new HashSet<>());
            else if (each == Cluster.class) values.add(cluster);
            else values.add(null);
        }
        return made.newInstance(values.toArray());
    }

    static Object call(Object owner, String name, Object... values) throws Exception {
        return named(owner.getClass(), name).invoke(owner, values);
    }

    /** The method of this name with the most parameters. */
    static Method named(Class<?> type, String name) {
        Method found = null;
        for (Method each : type.getDeclaredMethods())
            if (each.getName().equals(name)
                    && (found == null || each.getParameterCount() > found.getParameterCount())) found = each;
        if (found != null) found.setAccessible(true);
        return found;
    }

    static Field field(Object owner, String name) {
        Class<?> type = owner instanceof Class ? (Class<?>) owner : owner.getClass();
        for (; type != null; type = type.getSuperclass()) {
            for (Field each : type.getDeclaredFields())
                if (each.getName().equals(name)) {
                    each.setAccessible(true);
                    return each;
                }
        }
        return null;
    }

    static boolean has(Object owner, String name) {
        return field(owner, name) != null;
    }

    static Object get(Object owner, String name) throws Exception {
        return field(owner, name).get(owner);
    }

    static void set(Object owner, String name, Object value) throws Exception {
        field(owner, name).set(owner, value);
    }
}
