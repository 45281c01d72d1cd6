import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { freePort } from '../../src/engine/llama-server/free-port.ts'
import { type ChaosReply, type Replica, runChaos } from '../support/hostile/chaos.ts'
import { type RunningApp, startApp, until } from '../support/http/app.ts'
import { openChat } from '../support/http/raw-client.ts'
import { llamaServerBinary, llamaServerHint } from '../support/llama/llama-server.ts'
import { randomModel } from '../support/llama/models.ts'
import { writeRandomModel } from '../support/llama/random-gguf.ts'
import { loadFactor } from '../support/process/stall-bound.ts'
import {
  chatChunk,
  doneLine,
  openStream,
  type ScriptedUpstream,
  startUpstream,
  usageChunk,
} from '../support/upstream/upstream.ts'

/** Two minutes by hand: see bench/results/2026-11-failing-servers.md. */
const seconds = Number(process.env.DRAGOMAN_CHAOS_SECONDS ?? 15)
const open: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

async function serving(replicas: readonly Replica[]): Promise<RunningApp> {
  const app = await startApp({
    models: [{ id: 'up', engine: 'remote', endpoints: replicas.map(({ url }) => ({ url })), slots: 64 }],
    builtinModel: false,
  })
  open.push(() => app.close())
  return app
}

type Told = { readonly servers: readonly { state: string; active_requests: number; outstanding_tokens: number }[] }

async function serversOf({ url }: RunningApp): Promise<Told['servers']> {
  const told = (await (await fetch(`${url}/v1/models/up`)).json()) as Told
  return told.servers
}

/** No request was lost before its first token, and what was not finished says so once. Returns what there was, counted. */
function judge(replies: readonly ChaosReply[]): { whole: number; broken: number } {
  let broken = 0
  for (const reply of replies) {
    const { text, errors, finishes, ids, usages, isDone } = reply
    if (errors.length === 0) {
      expect({ finishes: finishes.length, usages: usages.length, ids: ids.size, isDone }).toEqual({
        finishes: 1,
        usages: 1,
        ids: 1,
        isDone: true,
      })
    } else {
      broken += 1
      expect(text, errors.join()).not.toBe('')
      expect({ errors: errors.length, finishes }).toEqual({ errors: 1, finishes: [] })
    }
  }
  return { whole: replies.length - broken, broken }
}

async function nothingIsLeft(app: RunningApp): Promise<void> {
  await until(async () => (await app.metric('dragoman_slots_busy{model="up"}')) === 0)
  const servers = await serversOf(app)
  expect(servers.map(({ active_requests, outstanding_tokens }) => [active_requests, outstanding_tokens])).toEqual(
    servers.map(() => [0, 0]),
  )
}

describe('servers that come and go, under load', () => {
  /** Counts to 40, from wherever an answer was left; as vLLM, it is asked to go on with the last message. */
  async function counter(): Promise<Replica & { connections(): number }> {
    let server: ScriptedUpstream | undefined
    const port = await freePort()
    const start = async () => {
      server = await startUpstream(
        async ({ body }, response) => {
          const messages = body.messages as { role: string; content: string }[]
          const said = messages.at(-1)?.role === 'assistant' ? (messages.at(-1)?.content ?? '') : ''
          const next = said.trim() === '' ? 0 : said.trim().split(' ').length
          const usage = (made: number) => ({ usage: { prompt_tokens: 5, completion_tokens: made } })
          openStream(response)
          for (let number = next; number < 40 && !response.destroyed; number++) {
            await sleep(10)
            response.write(chatChunk({ delta: { content: `${number} ` } }, usage(number - next + 1)))
          }
          response.end(chatChunk({ delta: {}, finish_reason: 'stop' }) + usageChunk(5, 40 - next) + doneLine)
        },
        { ownedBy: 'vllm', port },
      )
    }
    const kill = async () => {
      await server?.close()
      server = undefined
    }
    await start()
    open.push(kill)
    return { url: `http://127.0.0.1:${port}/v1`, start, kill, connections: () => server?.connections() ?? 0 }
  }

  test(
    'of three that can go on with an answer, none loses anything',
    async () => {
      const replicas = [await counter(), await counter(), await counter()]
      const app = await serving(replicas)
      const body = { model: 'up', messages: [{ role: 'user', content: 'count' }] }
      const { replies, kills } = await runChaos({
        url: app.url,
        replicas,
        seconds,
        killEveryMs: 1500,
        awayMs: 700,
        clients: 12,
        body,
      })
      console.info('scripted servers', { kills, replies: replies.length, ...judge(replies) })
      const wanted = Array.from({ length: 40 }, (_, number) => `${number} `).join('')
      for (const { text, errors, usages } of replies) {
        if (errors.length > 0) expect(wanted.startsWith(text)).toBe(true)
        else
          expect({ text, usage: usages[0] }).toMatchObject({ text: wanted, usage: { prompt_tokens: 5, completion_tokens: 40 } })
      }
      expect(kills).toBeGreaterThan(3)
      await nothingIsLeft(app)
      await app.close()
      await until(() => replicas.every(({ connections }) => connections() === 0), 2000)
    },
    1000 * (seconds + 60),
  )
})

describe.skipIf(llamaServerBinary === undefined)(`real llama-servers${llamaServerHint}`, () => {
  async function llamaServer(model: string, context: number): Promise<Replica & { readonly root: string }> {
    const port = await freePort()
    const root = `http://127.0.0.1:${port}`
    let child: ChildProcess | undefined
    const start = async () => {
      const args = [
        '-m',
        model,
        '--port',
        `${port}`,
        '-c',
        `${context}`,
        '-np',
        '4',
        '-t',
        '1',
        '-tb',
        '1',
        '--slots',
        '--no-webui',
      ]
      child = spawn(llamaServerBinary ?? '', args, { stdio: 'ignore' })
      await until(
        () =>
          fetch(`${root}/health`).then(
            ({ ok }) => ok,
            () => false,
          ),
        30_000,
      )
    }
    const kill = async () => {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    }
    await start()
    open.push(kill)
    return { url: `${root}/v1`, root, start, kill }
  }

  async function busySlots(root: string): Promise<number> {
    const slots = (await (await fetch(`${root}/slots`)).json()) as { is_processing: boolean }[]
    return slots.filter(({ is_processing }) => is_processing).length
  }

  test(
    'of three, killed one after the other, none loses what it had not begun',
    async () => {
      const replicas = await Promise.all([1, 2, 3].map(async () => llamaServer(await randomModel(), 16_384)))
      const app = await serving(replicas)
      const body = { model: 'up', messages: [{ role: 'user', content: 'go' }], ignore_eos: true, max_tokens: 100 }
      const killEveryMs = seconds >= 60 ? 10_000 : 3000
      const { replies, kills } = await runChaos({ url: app.url, replicas, seconds, killEveryMs, awayMs: 0, clients: 8, body })
      const counted = replies.filter(({ usages }) => usages[0]?.completion_tokens === 100).length
      console.info('llama-servers', { kills, replies: replies.length, ...judge(replies), counted })
      const messages = new Set(replies.flatMap(({ errors }) => errors))
      if (messages.size > 0) console.info(messages)
      await nothingIsLeft(app)
      for (const { root } of replicas) await until(async () => (await busySlots(root)) === 0)
    },
    1000 * (seconds + 90),
  )

  test.each([true, false])('a hang-up in a long prompt frees its slot soon (stream: %s)', async (stream) => {
    const folder = await mkdtemp(join(tmpdir(), 'dragoman-long-'))
    open.push(() => rm(folder, { recursive: true }))
    await writeRandomModel(join(folder, 'long.gguf'), { contextLength: 65_536 })
    const replica = await llamaServer(join(folder, 'long.gguf'), 4 * 65_536)
    const app = await serving([replica])
    const content = 'word '.repeat(8000)
    const chat = openChat(app.url, { model: 'up', messages: [{ role: 'user', content }], max_tokens: 5, stream })
    await until(async () => (await busySlots(replica.root)) === 1)
    chat.hangUp()
    const startMs = performance.now()
    await until(async () => (await busySlots(replica.root)) === 0)
    const freeMs = performance.now() - startMs
    console.info(`the slot was free after ${Math.round(freeMs)} ms`)
    // Reading all of it takes many times as long.
    expect(freeMs).toBeLessThan(2500 * loadFactor())
    expect(chat.text()).toBe('')
    await nothingIsLeft(app)
  })
})
