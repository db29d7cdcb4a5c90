import java.io.ByteArrayInputStream;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Properties;

/** Loads each line of input, bytes in hexadecimal, as a properties file; prints keys and values. */
public class JavaProperties {
    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = input.readLine()) != null; ) {
            List<String> entries = new ArrayList<>();
            Properties properties = new Properties() {
                @Override
                public synchronized Object put(Object key, Object value) {
                    entries.add(hex((String) key) + "=" + hex((String) value));
                    return super.put(key, value);
                }
            };
            try {
                properties.load(new ByteArrayInputStream(HexFormat.of().parseHex(line)));
                System.out.println(String.join(",", entries));
            } catch (IllegalArgumentException refused) {
                System.out.println("refused");
            }
        }
    }

    static String hex(String text) {
        StringBuilder out = new StringBuilder();
        for (char unit : text.toCharArray()) out.append(String.format("%04x", (int) unit));
        return out.toString();
    }
}
