import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { expect, onTestFinished, test } from 'vitest'
import { dnsSource } from '../../../src/engine/remote/endpoints/dns-source.ts'
import { follow } from '../../support/discovery/follow.ts'
import { until } from '../../support/http/app.ts'

/** Debian's package is dnsmasq-base; its program is not on everybody's PATH. */
const program = ['dnsmasq', '/usr/sbin/dnsmasq'].find((name) => {
  try {
    execFileSync(name, ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
})
const hint = program === undefined ? ' (skipped: install dnsmasq-base)' : ''

async function freePort(): Promise<number> {
  const socket = createSocket('udp4')
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  const { port } = socket.address()
  await new Promise<void>((resolve) => socket.close(() => resolve()))
  return port
}

/** A dnsmasq with these records and no others. */
async function startDnsmasq(port: number, ...records: readonly string[]): Promise<ChildProcess> {
  const only = [
    '--keep-in-foreground',
    '--log-facility=-',
    '--conf-file=/dev/null',
    '--no-resolv',
    '--no-hosts',
    '--user=',
    '--pid-file=',
  ]
  const listening = [`--port=${port}`, '--listen-address=127.0.0.1', '--bind-interfaces', '--local=/test/']
  const child = spawn(program ?? '', [...only, ...listening, ...records], { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  await until(() => said.includes('started') || child.exitCode !== null)
  expect(child.exitCode, said).toBeNull()
  return child
}

test.skipIf(program === undefined)(
  `servers by dnsmasq${hint}`,
  async () => {
    const port = await freePort()
    const first = await startDnsmasq(
      port,
      '--srv-host=_http._tcp.vllm.test,a.test,8001,0,10',
      '--srv-host=_http._tcp.vllm.test,b.test,8002,0,30',
      '--srv-host=_http._tcp.vllm.test,c.test,8003,5,1',
      '--host-record=a.test,10.0.0.1',
      '--host-record=b.test,10.0.0.2',
      '--host-record=c.test,10.0.0.3',
      ...Array.from({ length: 100 }, (_, index) => `--host-record=vllm.test,10.1.0.${index}`),
    )
    const warnings: string[] = []
    const given = {
      path: '/v1',
      everyMs: 100,
      nameServers: [`127.0.0.1:${port}`],
      warn: (text: string) => void warnings.push(text),
    }
    const services = follow(dnsSource({ dns: '_http._tcp.vllm.test', ...given }))
    await services.urls()
    expect(services.heard.sets[0]).toEqual([
      { url: 'http://10.0.0.1:8001/v1', weight: 0.5 },
      { url: 'http://10.0.0.2:8002/v1', weight: 1.5 },
      { url: 'http://10.0.0.3:8003/v1', weight: 1, isSpare: true },
    ])
    const pods = follow(dnsSource({ dns: 'vllm.test', port: 8000, ...given }))
    expect(await pods.urls()).toHaveLength(100)
    // While it is away, the last set stays.
    first.kill('SIGKILL')
    await until(() => warnings.length >= 2)
    expect(pods.heard.sets).toHaveLength(1)
    await startDnsmasq(port, '--host-record=vllm.test,10.1.0.7', '--host-record=vllm.test,10.1.0.200')
    await pods.changed()
    expect(await pods.urls()).toEqual(['http://10.1.0.200:8000/v1', 'http://10.1.0.7:8000/v1'])
    await until(() => services.heard.sets.length === 2)
    expect(services.heard.sets[1]).toEqual([])
  },
  60_000,
)
