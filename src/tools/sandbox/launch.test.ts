import { describe, expect, test } from 'vitest'
import { bubblewrapLaunch, type Machine } from './bubblewrap.ts'
import { podmanLaunch } from './podman.ts'
import type { SandboxJob, SandboxProgram } from './sandbox.ts'

const limits = { memoryBytes: 1000, diskBytes: 2000, fileBytes: 300, cpuSeconds: 4, processes: 5 }
const python: SandboxProgram = { language: 'python', code: 'print(1)' }
const shell: SandboxProgram = { language: 'bash', code: 'echo "$HOME"' }
const job = (program: SandboxProgram): SandboxJob => ({ program, folder: '/var/sandbox/one/files', limits })
const machine: Machine = {
  bwrap: '/usr/bin/bwrap',
  interpreter: { path: '/usr/bin/python3', folders: [] },
  rootEntries: [{ path: '/bin', linkTo: 'usr/bin' }, { path: '/lib64' }],
  filter: Buffer.from('filter'),
}

/** Options that come one after the other. */
const sequence = (...options: string[]) => options.map((option) => `${option}\0`).join('')

describe('bubblewrap', () => {
  const launch = bubblewrapLaunch(job(python), machine)
  const options = `${launch.descriptors[0]}`

  test('bubblewrap gives a program namespaces of its own, no capabilities, no terminal, and an end with the server', () => {
    for (const option of [
      '--unshare-all',
      '--unshare-user',
      '--disable-userns',
      '--die-with-parent',
      '--new-session',
      '--clearenv',
    ])
      expect(options).toContain(sequence(option))
    expect(options).toContain(sequence('--cap-drop', 'ALL'))
    expect(options).not.toContain('--share-net')
  })

  test('bubblewrap gives a program /usr to read and the folder of the session to write, nothing else of this machine', () => {
    const given = [...options.matchAll(/--((?:ro-|dev-)?bind)\0([^\0]+)\0([^\0]+)/g)].map(([, kind, from, to]) => [
      kind,
      from,
      to,
    ])
    expect(given).toEqual([
      ['ro-bind', '/usr', '/usr'],
      ['ro-bind', '/lib64', '/lib64'],
      ['ro-bind', '/proc/sys', '/proc/sys'],
      ['bind', '/var/sandbox/one/files', '/session'],
    ])
    expect(options).toContain(sequence('--symlink', 'usr/bin', '/bin'))
  })

  test('sets the whole environment', () => {
    const names = [...options.matchAll(/--setenv\0([^\0]+)/g)].map(([, name]) => name)
    expect(names).toEqual([
      ...['PATH', 'HOME', 'TMPDIR', 'LANG', 'TERM', 'PYTHONIOENCODING', 'PYTHONPATH', 'PYTHONDONTWRITEBYTECODE'],
    ])
    expect(Object.keys(launch.env)).toEqual(['PATH'])
  })

  test('bubblewrap makes no memory without a limit: the root and /dev are read-only, /tmp and shared memory have a size', () => {
    expect(options).toMatch(/--size\0\d+\0--tmpfs\0\/tmp\0/)
    expect(options).toMatch(/--size\0\d+\0--tmpfs\0\/dev\/shm\0/)
    expect(options).toMatch(new RegExp(`${sequence('--remount-ro', '/dev', '--remount-ro', '/')}$`))
  })

  test('bubblewrap counts inside the sandbox as far as the system can', () => {
    expect(launch.args).toEqual(
      expect.arrayContaining(['/usr/bin/prlimit', '--data=1000', '--fsize=300', '--cpu=4:5', '--nproc=5', '--core=0']),
    )
  })

  test('the program and the filter are in the descriptors that the options name', () => {
    const numberBefore = (pattern: RegExp) => Number(pattern.exec(options)?.[1])
    expect(launch.descriptors[numberBefore(/--ro-bind-data\0(\d+)\0\/run\/code\.py/) - 3]).toEqual(Buffer.from('print(1)'))
    expect(launch.descriptors[numberBefore(/--seccomp\0(\d+)/) - 3]).toBe(machine.filter)
    expect(launch.descriptors[numberBefore(/--json-status-fd\0(\d+)/) - 3]).toBe('status')
  })

  test('a command is an argument, and is never read by the shell outside', () => {
    const { args } = bubblewrapLaunch(job(shell), machine)
    expect(args.slice(-3)).toEqual(['bash', '-c', 'echo "$HOME"'])
    expect(args[1]).not.toContain('$HOME')
  })

  test('an interpreter elsewhere comes with its folders, and first in PATH', () => {
    const interpreter = { path: '/opt/venv/bin/python3', folders: ['/opt/venv'] }
    const { descriptors, args } = bubblewrapLaunch(job(python), { ...machine, interpreter })
    expect(`${descriptors[0]}`).toContain(sequence('--ro-bind', '/opt/venv', '/opt/venv'))
    expect(`${descriptors[0]}`).toContain(sequence('--setenv', 'PATH', '/opt/venv/bin:/usr/local/bin:/usr/bin:/bin'))
    expect(args).toContain('/opt/venv/bin/python3')
  })

  test('where the server can make control groups, one bounds all that the program and its own file systems have in memory', () => {
    expect(launch.group).toBeUndefined()
    const { group } = bubblewrapLaunch(job(python), { ...machine, groupFolder: '/sys/fs/cgroup/srv' })
    expect(group).toEqual({ folder: '/sys/fs/cgroup/srv', memoryBytes: 1000 + 2 * 64 * 2 ** 20 })
  })

  test('where the server is root, the program is another user', () => {
    const user = { uid: 65534, gid: 65534 }
    expect(bubblewrapLaunch(job(python), { ...machine, user }).user).toEqual(user)
    expect(launch.user).toBeUndefined()
  })
})

describe('podman', () => {
  const podman = { podman: '/usr/bin/podman', image: 'python:3.12', interpreter: 'python3' }

  test('podman runs a program in a container without a network, rights or anything to write but its folder and /tmp', () => {
    const { args } = podmanLaunch(job(python), podman, 'sandbox-1')
    const start = args.indexOf('/usr/bin/podman')
    expect(args.slice(start)).toEqual([
      ...[
        '/usr/bin/podman',
        'run',
        '--rm',
        '--name',
        'sandbox-1',
        '--pull=never',
        '--log-driver=none',
        '--hostname=sandbox',
        '--init',
      ],
      ...['--network=none', '--ipc=private', '--read-only', '--read-only-tmpfs=false'],
      ...['--cap-drop=all', '--security-opt=no-new-privileges', '--userns=keep-id'],
      ...['--memory=1000', '--memory-swap=1000', '--pids-limit=5', '--shm-size=67108864'],
      ...['--ulimit=fsize=300:300', '--ulimit=cpu=4:4', '--ulimit=nofile=256:256', '--ulimit=core=0:0'],
      '--ulimit=nproc=4096:4096',
      '--tmpfs=/tmp:rw,nosuid,nodev,mode=1777,size=67108864',
      ...['--volume', '/var/sandbox/one/files:/session', '--workdir', '/session'],
      ...['--env=HOME=/session', '--env=TMPDIR=/session', '--env=LANG=C.UTF-8', '--env=TERM=dumb'],
      ...['--env=PYTHONIOENCODING=utf-8', '--env=PYTHONPATH=/session', '--env=PYTHONDONTWRITEBYTECODE=1'],
      ...['--entrypoint=env', 'python:3.12', 'python3', '-u', '-c', 'print(1)'],
    ])
  })

  test('where the server is root, the program is another user', () => {
    const { args } = podmanLaunch(job(shell), { ...podman, user: { uid: 65534, gid: 65534 } }, 'sandbox-2')
    expect(args).toContain('--user=65534:65534')
    expect(args).not.toContain('--userns=keep-id')
    expect(args.slice(-4)).toEqual(['python:3.12', 'bash', '-c', 'echo "$HOME"'])
  })
})
