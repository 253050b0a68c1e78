using System;
using System.Diagnostics;
using System.Globalization;
using System.Runtime.InteropServices;
using System.Threading;

// Computations on a ring, in stages with messages between them, by threads that sleep on locks.
//
// Each line of the input, "PATTERN PARALLEL STAGES UNITS TERMS", is answered by one line: the time
// as JSON. One process answers many, so that everything is compiled when it counts. The patterns
// are those of bench/peers/c/stages.c. "kernel THREADS POINTS CLUSTERS SYNCHRONISATIONS" is
// answered by what bench/peers/c/kernel.c prints.
public static class Stages
{
    // A place for one message. Its reader sleeps on the place itself.
    sealed class Line
    {
        public long Stage;
        public double Value;
        // No two places share a cache line.
#pragma warning disable 0649
        public long P0, P1, P2, P3, P4, P5, P6, P7, P8, P9, P10, P11, P12, P13;
#pragma warning restore 0649
    }

    static string pattern;
    static long stages;
    static int parallel, units, terms, depth;
    static Line[][] lines;
    static double[] values;
    static double sink = 1.0;

    // The unit of bench/src/unit.rs: x <- 1 / (1 + x), so many terms, so many times in one chain.
    static void Compute()
    {
        double x = Volatile.Read(ref sink);
        for (int unit = 0; unit < units; unit++)
            for (int term = 0; term < terms; term++)
                x = 1.0 / (1.0 + x);
        if (x < 0)
            Volatile.Write(ref sink, x);
    }

    // A sender is at most `parallel` stages ahead of its receiver.
    static Line At(int side, int to, long stage)
    {
        return lines[side][to * depth + (int)(stage & (depth - 1))];
    }

    static void Post(int side, int to, long stage, double value)
    {
        Line line = At(side, to, stage);
        lock (line)
        {
            line.Value = value;
            line.Stage = stage + 1;
            Monitor.Pulse(line);
        }
    }

    static double Receive(int side, int me, long stage)
    {
        Line line = At(side, me, stage);
        lock (line)
        {
            while (line.Stage != stage + 1)
                Monitor.Wait(line);
            return line.Value;
        }
    }

    [DllImport("libc", EntryPoint = "sched_setaffinity")]
    static extern int Bind(int thread, IntPtr size, ulong[] set);

    static void BindTo(int core)
    {
        try
        {
            var set = new ulong[16];
            set[core / 64] = 1UL << (core % 64);
            // A machine that does not allow it is measured unbound.
            Bind(0, new IntPtr(8 * set.Length), set);
        }
        catch (EntryPointNotFoundException) { }
        catch (DllNotFoundException) { }
    }

    static void Run(int me)
    {
        int left = (me + parallel - 1) % parallel, right = (me + 1) % parallel;
        double value = me, other;
        for (long stage = 0; stage < stages; stage++)
        {
            Compute();
            switch (pattern)
            {
                case "pipeline":
                    Post(0, me, stage, value);
                    value = Receive(0, me, stage);
                    break;
                case "shift":
                    Post(0, right, stage, value);
                    value = Receive(0, me, stage);
                    break;
                case "exchange":
                    Post(0, right, stage, value);
                    Post(1, left, stage, value);
                    other = Receive(0, me, stage);
                    value = (other + Receive(1, me, stage)) / 2;
                    break;
                case "exchange-two-shifts":
                    Post(1, left, stage, value);
                    other = Receive(1, me, stage);
                    Post(0, right, stage, value);
                    value = (other + Receive(0, me, stage)) / 2;
                    break;
                default:
                    throw new ArgumentException("no pattern " + pattern);
            }
        }
        values[me] = value;
    }

    static long Measure()
    {
        for (depth = 2; depth <= parallel; depth *= 2) { }
        lines = new Line[2][];
        for (int side = 0; side < 2; side++)
        {
            lines[side] = new Line[parallel * depth];
            for (int at = 0; at < lines[side].Length; at++)
                lines[side][at] = new Line();
        }
        values = new double[parallel];
        var threads = new Thread[parallel];
        long[] started = new long[parallel * 16], ended = new long[parallel * 16];
        using (var ready = new Barrier(parallel))
        {
            for (int at = 0; at < parallel; at++)
            {
                int me = at;
                threads[at] = new Thread(() =>
                {
                    BindTo(me % Environment.ProcessorCount);
                    ready.SignalAndWait();
                    started[me * 16] = Stopwatch.GetTimestamp();
                    Run(me);
                    ended[me * 16] = Stopwatch.GetTimestamp();
                });
                threads[at].Start();
            }
            foreach (Thread thread in threads)
                thread.Join();
        }
        long first = long.MaxValue, last = 0;
        double sum = 0, expected = (double)parallel * (parallel - 1) / 2;
        for (int at = 0; at < parallel; at++)
        {
            first = Math.Min(first, started[at * 16]);
            last = Math.Max(last, ended[at * 16]);
            sum += values[at];
        }
        // The values only move and mix: their sum stays.
        if (Math.Abs(sum - expected) > 1e-6 * (expected + 1))
            throw new InvalidOperationException(sum + ", not " + expected);
        return (long)((last - first) * (1e9 / Stopwatch.Frequency));
    }

    const double Temperature = 0.01;

    // The clustering kernel of bench/peers/c/kernel.c: one step of annealing over own points.
    static void Step(double[] own, double[] centres, double[] near, double[] sums)
    {
        Array.Clear(sums, 0, sums.Length);
        for (int at = 0; at < own.Length; at += 2)
        {
            double x = own[at], y = own[at + 1], all = 0;
            for (int k = 0; k < near.Length; k++)
            {
                double dx = x - centres[2 * k], dy = y - centres[2 * k + 1];
                near[k] = Math.Exp(-(dx * dx + dy * dy) / Temperature);
                all += near[k];
            }
            for (int k = 0; k < near.Length; k++)
            {
                double part = all > 0 ? near[k] / all : 0;
                sums[3 * k] += part * x;
                sums[3 * k + 1] += part * y;
                sums[3 * k + 2] += part;
            }
        }
    }

    static double[] Times(int me, int points, int clusters, int synchronisations, Barrier meeting)
    {
        BindTo(me % Environment.ProcessorCount);
        var own = new double[2 * points];
        ulong state = 1;
        for (int i = 0; i < own.Length; i++)
        {
            state = unchecked(state * 6364136223846793005UL + 1442695040888963407UL);
            own[i] = (state >> 11) / 9007199254740992.0;
        }
        double[] centres = new double[2 * clusters], near = new double[clusters];
        for (int i = 0; i < centres.Length; i++)
            centres[i] = own[i % own.Length];
        var sums = new double[3 * clusters];
        var times = new double[synchronisations];
        // The first tenth warms up.
        for (int at = -(synchronisations + 9) / 10; at < synchronisations; at++)
        {
            meeting.SignalAndWait();
            long started = Stopwatch.GetTimestamp();
            Step(own, centres, near, sums);
            if (at >= 0)
                times[at] = (Stopwatch.GetTimestamp() - started) * (1e6 / Stopwatch.Frequency);
        }
        return times;
    }

    static string Kernel(int threads, int points, int clusters, int synchronisations)
    {
        var all = new double[threads][];
        var running = new Thread[threads];
        using (var meeting = new Barrier(threads))
        {
            for (int at = 0; at < threads; at++)
            {
                int me = at;
                running[at] = new Thread(() =>
                    all[me] = Times(me, points, clusters, synchronisations, meeting));
                running[at].Start();
            }
            foreach (Thread thread in running)
                thread.Join();
        }
        double mean = 0, squares = 0, count = threads * synchronisations;
        foreach (double[] times in all)
            foreach (double time in times)
                mean += time / count;
        foreach (double[] times in all)
            foreach (double time in times)
                squares += (time - mean) * (time - mean) / count;
        var invariant = CultureInfo.InvariantCulture;
        string deviation = (Math.Sqrt(squares) / mean).ToString("F6", invariant);
        return "{\"mean_us\": " + mean.ToString("F3", invariant) + ", \"deviation\": " + deviation + "}";
    }

    public static void Main()
    {
        string line;
        while ((line = Console.ReadLine()) != null)
        {
            string[] words = line.Split(' ');
            if (words[0] == "kernel")
            {
                int[] of = Array.ConvertAll(line.Substring(7).Split(' '), int.Parse);
                Console.WriteLine(Kernel(of[0], of[1], of[2], of[3]));
                Console.Out.Flush();
                continue;
            }
            pattern = words[0];
            parallel = int.Parse(words[1]);
            stages = long.Parse(words[2]);
            units = int.Parse(words[3]);
            terms = int.Parse(words[4]);
            Console.WriteLine("{\"ns\": " + Measure() + "}");
            Console.Out.Flush();
        }
    }
}
