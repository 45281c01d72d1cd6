import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { systemCallFilter } from './seccomp.ts'

type SystemCall = { readonly number: number; readonly arch?: number; readonly args?: readonly number[] }
const architectures = { x64: 0xc000003e, arm64: 0xc00000b7 }
const allowed = 0x7fff0000
const killed = 0x80000000
const failsWith = (code: number) => 0x00050000 | code
const [EPERM, ENOSYS, EPROTONOSUPPORT, EOPNOTSUPP, EAFNOSUPPORT] = [1, 38, 93, 95, 97]

/** What the kernel does with a filter: the four instructions that this one has. */
function decide(filter: Buffer, { number, arch = architectures.x64, args = [] }: SystemCall): number {
  const data = new Map([[0, number], [4, arch], ...args.map((value, index) => [16 + 8 * index, value] as const)])
  let accumulator = 0
  for (let at = 0; at < filter.length; at += 8) {
    const [code, value] = [filter.readUInt16LE(at), filter.readUInt32LE(at + 4)]
    const jump = (holds: boolean) => {
      at += 8 * filter.readUInt8(at + (holds ? 2 : 3))
    }
    if (code === 0x20) accumulator = data.get(value) ?? 0
    else if (code === 0x15) jump(accumulator === value)
    else if (code === 0x35) jump(accumulator >= value)
    else if (code === 0x45) jump((accumulator & value) !== 0)
    else if (code === 0x06) return value
    else throw new Error(`an unknown instruction: ${code}`)
  }
  throw new Error('the filter ends without a decision')
}

/** The kernel's own numbers of system calls, which those of the filter are compared with. */
const headers = {
  x64: ['/usr/include/x86_64-linux-gnu/asm/unistd_64.h', '/usr/include/asm/unistd_64.h'],
  arm64: ['/usr/include/asm-generic/unistd.h'],
}

function readNumbers(paths: readonly string[]): ReadonlyMap<string, number> | undefined {
  const path = paths.find((candidate) => existsSync(candidate))
  if (path === undefined) return undefined
  const defined = readFileSync(path, 'utf8').matchAll(/^#define __NR_(\w+) (\d+)$/gm)
  return new Map([...defined].map(([, name = '', number]) => [name, Number(number)]))
}

for (const name of ['x64', 'arm64'] as const) {
  const numbers = readNumbers(headers[name])
  const hint = numbers === undefined ? ' (skipped: install linux-libc-dev)' : ''
  describe.skipIf(numbers === undefined)(`the filter for ${name}${hint}`, () => {
    const filter = systemCallFilter(name) as Buffer
    const arch = architectures[name]
    const numberOf = (call: string) => numbers?.get(call) as number
    const decision = (call: string, ...args: number[]) => decide(filter, { number: numberOf(call), arch, args })

    test('allows what programs do all the time', () => {
      expect(decision('read')).toBe(allowed)
      expect(decision('clone', 0x3d0f00)).toBe(allowed)
      expect(decision('ioctl', 1, 0x5401)).toBe(allowed)
      for (const family of [1, 2, 10]) expect(decision('socket', family, 1, 0)).toBe(allowed)
    })

    test.each(['ptrace', 'mount', 'vmsplice', 'lookup_dcookie'])('refuses %s', (call) => {
      expect(decision(call)).toBe(failsWith(EPERM))
    })

    test('refuses clone for each kind of namespace, and clone3, whose flags it cannot see', () => {
      const flags = [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000]
      for (const flag of flags) expect(decision('clone', flag | 17)).toBe(failsWith(EPERM))
      expect(decision('clone3')).toBe(failsWith(ENOSYS))
    })

    test('refuses to type into a terminal', () => {
      for (const request of [0x5412, 0x541c]) expect(decision('ioctl', 0, request)).toBe(failsWith(EPERM))
    })

    test('refuses sockets of the kernel, of packets, of virtual machines', () => {
      for (const call of ['socket', 'socketpair'])
        for (const family of [0, 3, 16, 17, 30, 38, 40]) expect(decision(call, family)).toBe(failsWith(EAFNOSUPPORT))
    })

    test('refuses sockets of protocols whose memory the kernel does not tell, such as MPTCP and SCTP', () => {
      for (const protocol of [0, 6, 17]) expect(decision('socket', 2, 1, protocol)).toBe(allowed)
      for (const protocol of [132, 136, 262]) expect(decision('socket', 2, 1, protocol)).toBe(failsWith(EPROTONOSUPPORT))
    })

    test('leaves the most that waits in a socket as it is, and says that it was set', () => {
      expect(decision('setsockopt', 3, 1, 7)).toBe(failsWith(0))
      for (const [level, option] of [
        [1, 8],
        [6, 7],
      ])
        expect(decision('setsockopt', 3, level as number, option as number)).toBe(allowed)
    })

    test('refuses room for a file beyond its end', () => {
      expect(decision('fallocate', 3, 0)).toBe(allowed)
      for (const mode of [1, 2, 3, 16]) expect(decision('fallocate', 3, mode)).toBe(failsWith(EOPNOTSUPP))
    })

    test('ends a program that calls with the numbers of another processor', () => {
      expect(decide(filter, { number: numberOf('read'), arch: 0x40000003 })).toBe(killed)
    })

    test('refuses the x32 calls', () => {
      expect(decide(filter, { number: 0x40000000 + numberOf('read'), arch })).toBe(failsWith(ENOSYS))
    })
  })
}
test('there is none for a processor whose numbers are not known', () => {
  expect(systemCallFilter('riscv64')).toBeUndefined()
})
