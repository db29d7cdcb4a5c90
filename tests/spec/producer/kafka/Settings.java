import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Properties;
import java.util.Scanner;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.utils.LogContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes the settings of a producer, as KafkaProducer's constructor does. A line has settings as
 * name=value; the answer has the values in effect, or the setting that is refused.
 */
public class Settings {
    static final Logger LOG = LoggerFactory.getLogger("settings");
    static final String[] NAMES = {"delivery.timeout.ms", "transactional.id",
        "max.in.flight.requests.per.connection", "retries", "acks"};

    public static void main(String[] arguments) throws Exception {
        Scanner input = new Scanner(System.in);
        StringBuilder output = new StringBuilder();
        while (input.hasNextLine()) {
            Properties settings = new Properties();
            settings.put("bootstrap.servers", "127.0.0.1:1");
            for (String side : new String[] {"key", "value"})
                settings.put(side + ".serializer",
                    "org.apache.kafka.common.serialization.ByteArraySerializer");
            for (String word : input.nextLine().split(" "))
                if (!word.equals("-")) settings.put(word.split("=")[0], word.split("=")[1]);
            String answer;
            try {
                answer = answer(settings);
            } catch (InvocationTargetException refused) {
                answer = "refused " + name(refused.getCause());
            } catch (RuntimeException refused) {
                answer = "refused " + name(refused);
            }
            output.append(answer).append('\n');
        }
        System.out.print(output);
    }

    static String answer(Properties settings) throws Exception {
        ProducerConfig config = new ProducerConfig(settings);
        Object acks, retries, idempotent, timeout;
        Method before = method(KafkaProducer.class, "configureRetries");
        Method between = method(ProducerConfig.class, "idempotenceEnabled");
        Method inFlight = method(KafkaProducer.class, "configureInflightRequests");
        if (before != null) {
            idempotent = method(KafkaProducer.class, "configureTransactionState")
                .invoke(null, config, new LogContext(), LOG) != null;
            timeout = timeout(config);
            inFlight.invoke(null, config, idempotent);
            retries = before.invoke(null, config, idempotent, LOG);
            acks = method(KafkaProducer.class, "configureAcks").invoke(null, config, idempotent, LOG);
        } else {
            timeout = timeout(config);
            if (inFlight != null) inFlight.invoke(null, config);
            idempotent = between != null
                ? between.invoke(config) : config.getBoolean("enable.idempotence");
            retries = config.getInt("retries");
            acks = config.getString("acks");
        }
        return "acks=" + acks + " retries=" + retries + " idempotent=" + idempotent
            + " delivery=" + timeout;
    }

    static Object timeout(ProducerConfig config) throws Exception {
        return method(KafkaProducer.class, "configureDeliveryTimeout").invoke(null, config, LOG);
    }

    static Method method(Class<?> type, String name) {
        for (Method each : type.getDeclaredMethods())
            if (each.getName().equals(name)) {
                each.setAccessible(true);
                return each;
            }
        return null;
    }

    static String name(Throwable refused) {
        for (String name : NAMES)
            if (refused.getMessage().contains(name)) return name;
        return refused.toString();
    }
}
