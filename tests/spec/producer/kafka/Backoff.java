import java.lang.reflect.Field;
import java.util.Scanner;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.kafka.common.utils.ExponentialBackoff;

/** Asks ExponentialBackoff. A line is a seed, the first wait, the longest, and the attempts. */
public class Backoff {
    public static void main(String[] arguments) throws Exception {
        Field seed = threadField("threadLocalRandomSeed");
        threadField("tid").setLong(Thread.currentThread(), 0);  // since Java 17 the numbers depend on it
        Scanner input = new Scanner(System.in);
        StringBuilder output = new StringBuilder();
        while (input.hasNextLine()) {
            String[] words = input.nextLine().split(" ");
            ThreadLocalRandom.current();
            seed.setLong(Thread.currentThread(), Long.parseLong(words[0]));
            ExponentialBackoff backoff = new ExponentialBackoff(
                Long.parseLong(words[1]), 2, Long.parseLong(words[2]), 0.2);
            output.append(backoff.backoff(Long.parseLong(words[3]) - 1)).append('\n');
        }
        System.out.print(output);
    }

    static Field threadField(String name) throws Exception {
        Field field = Thread.class.getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }
}
