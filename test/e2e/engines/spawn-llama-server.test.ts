import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type ServerProcess, type SpawnOptions, spawnServer } from '../../../src/engine/llama-server/spawn-server.ts'
import { until } from '../../support/http/app.ts'
import { isAlive } from '../../support/process/is-alive.ts'
import { programFlags } from '../../support/process/program-flags.ts'

/** A server that says who it is, and who its own child is, and then waits. */
const family = `
const { spawn } = require('node:child_process')
const child = spawn(process.execPath, ['-e', 'setInterval(() => 0, 1000)'], { stdio: 'ignore' })
console.log(JSON.stringify({ server: process.pid, child: child.pid }))
`

function start(script: string, options: Partial<SpawnOptions> = {}): { server: ServerProcess; firstLine: Promise<string> } {
  let server: ServerProcess | undefined
  const firstLine = new Promise<string>((resolve) => {
    server = spawnServer({ binary: process.execPath, args: ['-e', script], apiKey: 'secret', onLine: resolve, ...options })
  })
  if (server === undefined) throw new Error('no server')
  const started = server
  onTestFinished(() => started.kill())
  return { server: started, firstLine }
}

describe('spawnServer', () => {
  test('the exit of a server is reported with its code and its last lines', async () => {
    const { server } = start('console.log("one"); console.error("two"); process.exit(3)')
    const exit = await server.exited
    expect(exit).toMatchObject({ description: 'exited with code 3', fromOutside: false })
    expect([...exit.lastLines].sort()).toEqual(['one', 'two'])
  })

  test('a signal is reported by name, and whether it came from outside', async () => {
    const crash = start('process.kill(process.pid, "SIGABRT")')
    expect(await crash.server.exited).toMatchObject({ description: 'killed by SIGABRT', fromOutside: false })
    const killed = start('console.log(1); setInterval(() => 0, 1000)')
    await killed.firstLine
    process.kill(killed.server.pid, 'SIGKILL')
    expect(await killed.server.exited).toMatchObject({ description: 'killed by SIGKILL', fromOutside: true })
  })

  test('a program that does not exist is reported', async () => {
    const { server } = start('', { binary: '/nowhere/llama-server' })
    expect((await server.exited).description).toMatch(/could not be started: .*ENOENT/)
  })

  test('the key is in the environment only, and no other secret and no option of llama-server is', async () => {
    process.env.TEST_API_KEY = 'other'
    process.env.LLAMA_ARG_CTX_SIZE = '7'
    process.env.LLAMA_SERVER_ROUTER_PORT = '7'
    onTestFinished(() => {
      delete process.env.TEST_API_KEY
      delete process.env.LLAMA_ARG_CTX_SIZE
      delete process.env.LLAMA_SERVER_ROUTER_PORT
    })
    const { firstLine } = start(
      'console.log(JSON.stringify([process.env.LLAMA_API_KEY, process.env.TEST_API_KEY, process.env.LLAMA_ARG_CTX_SIZE ?? process.env.LLAMA_SERVER_ROUTER_PORT, process.argv]))',
    )
    const [key, other, option, argv] = JSON.parse(await firstLine)
    expect([key, other, option]).toEqual(['secret', null, null])
    expect(JSON.stringify(argv)).not.toContain('secret')
  })

  test('ending it ends what it started as well', async () => {
    const { server, firstLine } = start(`${family}; setInterval(() => 0, 1000)`)
    const pids: { server: number; child: number } = JSON.parse(await firstLine)
    await server.kill()
    await until(() => !isAlive(pids.server) && !isAlive(pids.child))
  })

  test('a server that does not listen to SIGTERM is ended all the same', async () => {
    const deaf = 'process.on("SIGTERM", () => 0); console.log(1); setInterval(() => 0, 1000)'
    const { server, firstLine } = start(deaf, { graceMs: 50 })
    await firstLine
    await server.kill()
    // Reaped by the process that inherited it.
    await until(() => !isAlive(server.pid))
  })

  test('a guardian that is killed takes its server along', async () => {
    const { server, firstLine } = start(`console.log(JSON.stringify({ guardian: process.ppid })); setInterval(() => 0, 1000)`)
    const { guardian } = JSON.parse(await firstLine)
    process.kill(guardian, 'SIGKILL')
    expect(await server.exited).toMatchObject({ description: 'killed by SIGKILL', fromOutside: true })
    await until(() => !isAlive(server.pid))
  })

  test('a killed parent leaves no process running', async () => {
    const parentFile = fileURLToPath(new URL('../../support/llama/llama-server-parent.ts', import.meta.url))
    const parent: ChildProcess = spawn(
      process.execPath,
      [...programFlags, parentFile, process.execPath, '-e', `${family}; setInterval(() => 0, 1000)`],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    if (parent.stdout === null) throw new Error('no output')
    const [line] = await once(createInterface({ input: parent.stdout }), 'line')
    const pids: { server: number; child: number } = JSON.parse(JSON.parse(line).line)
    expect(isAlive(pids.server) && isAlive(pids.child)).toBe(true)
    parent.kill('SIGKILL')
    await until(() => !isAlive(pids.server) && !isAlive(pids.child))
  })

  test('a line without an end, and endless lines, are bounded', async () => {
    const { server } = start(`for (let i = 0; i < 200; i += 1) console.log('line ' + i); process.stdout.write('x'.repeat(1e6))`)
    const { lastLines } = await server.exited
    expect(lastLines.length).toBeLessThanOrEqual(41)
    expect(Math.max(...lastLines.map((line) => line.length))).toBeLessThanOrEqual(500)
    expect(lastLines).toContain('line 199')
  })
})
