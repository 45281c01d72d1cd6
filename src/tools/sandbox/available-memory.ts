import { readText } from './measure-processes.ts'

/** The memory files of both versions of control groups. Cached files are released when memory runs short. */
const versions = [
  {
    controllers: '',
    folder: '/sys/fs/cgroup',
    most: 'memory.max',
    used: 'memory.current',
    givenBack: /^(?:in)?active_file (\d+)$/gm,
  },
  {
    controllers: 'memory',
    folder: '/sys/fs/cgroup/memory',
    most: 'memory.limit_in_bytes',
    used: 'memory.usage_in_bytes',
    givenBack: /^total_(?:in)?active_file (\d+)$/gm,
  },
] as const

/** The memory left on this machine, or in the server's container or service if that is less. */
export function availableBytes(read = readText): number {
  const [, amount] = /^MemAvailable:\s+(\d+) kB$/m.exec(read('/proc/meminfo')) ?? []
  const machine = amount === undefined ? Number.POSITIVE_INFINITY : Number(amount) * 1024
  const groups = read('/proc/self/cgroup')
  const left = versions.flatMap(({ controllers, folder, most, used, givenBack }) => {
    const [, path] = new RegExp(`^\\d+:${controllers}:(/.*)$`, 'm').exec(groups) ?? []
    if (path === undefined) return []
    // A limit applies to all groups below it; in a container, the path may be the machine's, and only the top is visible.
    return withParents(folder, path).flatMap((group) => {
      const limit = Number.parseInt(read(`${group}/${most}`), 10)
      if (Number.isNaN(limit)) return []
      const files = [...read(`${group}/memory.stat`).matchAll(givenBack)].reduce((sum, [, bytes]) => sum + Number(bytes), 0)
      return [limit - Number(read(`${group}/${used}`)) + files]
    })
  })
  return Math.min(machine, ...left)
}

function withParents(folder: string, path: string): readonly string[] {
  const names = path.split('/').filter(Boolean)
  return [folder, ...names.map((_, index) => [folder, ...names.slice(0, index + 1)].join('/'))]
}
