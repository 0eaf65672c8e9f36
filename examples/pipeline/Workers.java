import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The modes sleepers and tasks of the service beside it, on Java's threads, each
 * of which is a thread of the operating system: java Workers HOST:PORT MODE N.
 */
public final class Workers {
    /** How many random numbers a task makes. */
    private static final int NUMBERS = 1000;

    public static void main(String[] args) throws Exception {
        int colon = args[0].lastIndexOf(':');
        InetSocketAddress addr =
            new InetSocketAddress(args[0].substring(0, colon), Integer.parseInt(args[0].substring(colon + 1)));
        int n = Integer.parseInt(args[2]);
        if (args[1].equals("sleepers")) {
            sleep(n);
        }
        // Listening comes last: a service that accepts connections is ready.
        HttpServer server = HttpServer.create(addr, 0);
        server.createContext("/healthz", x -> answer(x, "{\"status\":\"ok\"}"));
        if (args[1].equals("tasks")) {
            // The server has one thread of its own, so that one request at a
            // time has a pool.
            server.createContext("/tasks", x -> tasks(x, n));
        }
        server.start();
    }

    /** Returns when n threads are there and about to sleep. They never wake. */
    private static void sleep(int n) throws InterruptedException {
        CountDownLatch there = new CountDownLatch(n);
        for (int i = 0; i < n; i++) {
            Thread sleeper = new Thread(() -> {
                there.countDown();
                try {
                    Thread.sleep(Long.MAX_VALUE);
                } catch (InterruptedException e) {
                    // nobody does that
                }
            });
            sleeper.setDaemon(true);
            sleeper.start();
        }
        there.await();
    }

    /** Runs the tasks of one request on a pool that is made for it. */
    private static void tasks(HttpExchange x, int workers) throws IOException {
        int n = 200_000;
        String query = x.getRequestURI().getQuery();
        if (query != null && query.startsWith("n=")) {
            n = Integer.parseInt(query.substring(2));
        }
        AtomicLong sum = new AtomicLong();
        ExecutorService pool = Executors.newFixedThreadPool(workers);
        for (int i = 0; i < n; i++) {
            pool.execute(() -> sum.addAndGet(task()));
        }
        pool.shutdown();
        try {
            pool.awaitTermination(Long.MAX_VALUE, TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            throw new IOException(e);
        }
        answer(x, "{\"tasks\":" + n + ",\"workers\":" + workers + ",\"sum\":" + sum + "}");
    }

    /** Makes random numbers, each by a generator of its own, and returns their sum. */
    private static long task() {
        long sum = 0;
        for (int i = 0; i < NUMBERS; i++) {
            sum += new Random().nextInt();
        }
        return sum;
    }

    private static void answer(HttpExchange x, String json) throws IOException {
        byte[] body = (json + "\n").getBytes(StandardCharsets.UTF_8);
        x.getResponseHeaders().set("Content-Type", "application/json");
        x.sendResponseHeaders(200, body.length);
        x.getResponseBody().write(body);
        x.close();
    }
}
