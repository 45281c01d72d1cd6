import { expect, test } from 'vitest'
import { availableBytes } from './available-memory.ts'

const mebibyte = 2 ** 20
const machine = { '/proc/meminfo': 'MemTotal: 8388608 kB\nMemAvailable:    4194304 kB\n' }
const versionTwo = { '/proc/self/cgroup': '0::/system.slice/dragoman.service\n' }
const versionOne = { '/proc/self/cgroup': '8:pids:/\n4:memory:/docker/abc\n0::/\n' }
const group = '/sys/fs/cgroup/system.slice/dragoman.service'
const most = { limit: `${512 * mebibyte}`, used: `${400 * mebibyte}\n` }

test.each<[string, Record<string, string>, number]>([
  ['that of the machine, where no group has a limit', { ...machine, ...versionTwo, [`${group}/memory.max`]: 'max\n' }, 4096],
  ['that of the machine, where there are no groups', machine, 4096],
  [
    "that of the server's group, where that is less",
    { ...machine, ...versionTwo, [`${group}/memory.max`]: most.limit, [`${group}/memory.current`]: most.used },
    112,
  ],
  [
    'that of a group around it',
    {
      ...machine,
      ...versionTwo,
      [`${group}/memory.max`]: 'max\n',
      '/sys/fs/cgroup/system.slice/memory.max': most.limit,
      '/sys/fs/cgroup/system.slice/memory.current': most.used,
    },
    112,
  ],
  [
    'more by the files that were read, such as those of models: the kernel gives them back',
    {
      ...machine,
      ...versionTwo,
      [`${group}/memory.max`]: most.limit,
      [`${group}/memory.current`]: most.used,
      [`${group}/memory.stat`]: `anon 1\ninactive_file ${100 * mebibyte}\nactive_file ${200 * mebibyte}\nactive_anon 7\n`,
    },
    412,
  ],
  [
    'that of a container of the first version, which sees its group as the top',
    {
      ...machine,
      ...versionOne,
      '/sys/fs/cgroup/memory/memory.limit_in_bytes': most.limit,
      '/sys/fs/cgroup/memory/memory.usage_in_bytes': most.used,
      '/sys/fs/cgroup/memory/memory.stat': `inactive_file 5\ntotal_inactive_file ${mebibyte}\ntotal_active_file ${mebibyte}\n`,
    },
    114,
  ],
])('the memory that is left is %s', (_, files, expected) => {
  expect(availableBytes((path) => files[path] ?? '') / mebibyte).toBe(expected)
})
