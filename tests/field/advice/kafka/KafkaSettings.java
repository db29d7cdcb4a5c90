import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.List;
import java.util.TreeMap;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigException;

/**
 * Prints every setting of the Kafka on the class path: kind, name, type, default, range. With the
 * argument `parse`, reads lines of kind, name and value, and prints what Kafka makes of the value.
 * A kind whose classes are absent is left out.
 */
public class KafkaSettings {
    /** A kind, one of its settings, and the classes that may define them. */
    static final String[][] PLACES = {
        {"producer", "acks", "org.apache.kafka.clients.producer.ProducerConfig"},
        {"consumer", "session.timeout.ms", "org.apache.kafka.clients.consumer.ConsumerConfig"},
        {"topic", "flush.messages", "org.apache.kafka.storage.internals.log.LogConfig", "kafka.log.LogConfig$"},
        {"broker", "log.flush.interval.messages", "org.apache.kafka.server.config.AbstractKafkaConfig", "kafka.server.KafkaConfig$"},
    };

    public static void main(String[] arguments) throws Exception {
        if (arguments.length > 0) {
            parse();
            return;
        }
        for (String[] place : PLACES) {
            ConfigDef found = definition(place);
            if (found == null) continue;
            for (ConfigDef.ConfigKey key : new TreeMap<>(found.configKeys()).values())
                System.out.println(String.join("\t", place[0], key.name, key.type.name(),
                    key.hasDefault() ? text(key.defaultValue) : "(required)", range(key.validator)));
        }
    }

    static void parse() throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line; (line = input.readLine()) != null; ) {
            String[] asked = line.split("\t", -1);
            for (String[] place : PLACES) {
                if (!place[0].equals(asked[0])) continue;
                ConfigDef.ConfigKey key = definition(place).configKeys().get(asked[1]);
                try {
                    Object value = ConfigDef.parseType(key.name, asked[2], key.type);
                    if (key.validator != null) key.validator.ensureValid(key.name, value);
                    System.out.println("accepted: " + text(value));
                } catch (ConfigException refused) {
                    System.out.println("refused");
                }
            }
        }
    }

    static ConfigDef definition(String[] place) throws Exception {
        ConfigDef found = null;
        for (int i = 2; i < place.length && found == null; i++) found = definition(place[i], place[1]);
        return found;
    }

    static ConfigDef definition(String name, String setting) throws Exception {
        Class<?> holder;
        try {
            holder = Class.forName(name);
        } catch (ClassNotFoundException absent) {
            return null;
        }
        for (Field field : holder.getDeclaredFields()) {
            if (!ConfigDef.class.isAssignableFrom(field.getType())) continue;
            field.setAccessible(true);
            Object at = Modifier.isStatic(field.getModifiers()) ? null : holder.getField("MODULE$").get(null);
            ConfigDef found = (ConfigDef) field.get(at);
            if (found.names().contains(setting)) return found;
        }
        return null;
    }

    /** The range, by a validator of ConfigDef or of auto.offset.reset; others print what they do not check. */
    static String range(ConfigDef.Validator validator) {
        if (validator == null || !validator.getClass().getName().matches(".*[.](ConfigDef|AutoOffsetResetStrategy)[$].*")) return "";
        String text = validator.toString();
        return text.contains("[") ? text : "";
    }

    static String text(Object value) {
        if (value == null) return "";
        if (value instanceof List) {
            StringBuilder all = new StringBuilder();
            for (Object each : (List<?>) value) all.append(all.length() > 0 ? "," : "").append(text(each));
            return all.toString();
        }
        if (value instanceof Class) return ((Class<?>) value).getName();
        return value.toString().replace("\n", " ").replace("\t", " ");
    }
}
