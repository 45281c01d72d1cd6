// Plain JavaScript, for `node --import` loads it into the built program too: answers the parent's question for the CPU time (user and
// system) and the memory that this process uses.
import cluster from 'node:cluster'

// Its workers inherit the flag, and live as long as their channel.
if (cluster.isPrimary) {
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    process.send?.({ cpuMicros: user + system, rssBytes: process.memoryUsage.rss() })
  })
  process.on('disconnect', () => process.exit(0))
  // It must not keep a server alive that has ended.
  process.channel?.unref()
}
