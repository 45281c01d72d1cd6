import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { until } from '../../../../test/support/http/app.ts'
import {
  answer,
  ask,
  engineOver,
  failure,
  never,
  upstream as startUpstream,
} from '../../../../test/support/upstream/remote-engine.ts'
import type { Answer, ScriptedUpstream } from '../../../../test/support/upstream/upstream.ts'
import type { EjectionReason } from '../../../contract/attempts.ts'
import type { Engine } from '../../../contract/engine.ts'
import type { EjectionNews } from './other-processes.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const refreshEveryMs = 60_000

/** Replies with this number of choices. */
function choices(count: number): Answer {
  const choice = { message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }
  return (_, response) => {
    response.end(JSON.stringify({ choices: Array.from({ length: count }, (_, index) => ({ index, ...choice })) }))
  }
}

/** A server of unknown kind with a variable version, which counts its probes. */
async function server(version: string | undefined) {
  const upstream = await startUpstream(choices(1))
  const script = { version, isDown: false, probes: 0 }
  upstream.get = (path, response) => {
    if (path === '/v1/models') script.probes += 1
    if (script.isDown) response.writeHead(503).end()
    else if (path === '/version' && script.version !== undefined) response.end(JSON.stringify({ version: script.version }))
    else return false
    return true
  }
  return { upstream, script }
}

async function probingEngine(upstream: ScriptedUpstream): Promise<Engine> {
  const engine = engineOver([upstream], { probesAbilities: true })
  await engine.ensureReady(never)
  return engine
}

/** How often the abilities of a server were probed: each time, one request has `n`. */
const abilityProbes = ({ seen }: ScriptedUpstream) => seen.filter(({ body }) => 'n' in body).length
const abilitiesOf = (engine: Engine) => engine.capabilities.fleet?.replicas()[0]?.found?.abilities

/** Lets the engine probe once more, after a probe that may be running. */
async function probeAgain(script: { probes: number }): Promise<void> {
  const before = script.probes
  await until(() => {
    vi.advanceTimersByTime(refreshEveryMs)
    return script.probes > before
  })
}

test('abilities are probed once for each version', async () => {
  const { upstream, script } = await server('1')
  const engine = await probingEngine(upstream)
  await until(() => abilitiesOf(engine)?.choices === false)
  expect(abilityProbes(upstream)).toBe(1)
  for (let turn = 0; turn < 3; turn++) await probeAgain(script)
  expect(engine.capabilities.fleet?.replicas()).toMatchObject([{ found: { version: '1' } }])
  expect(abilityProbes(upstream)).toBe(1)
  expect(abilitiesOf(engine)).toMatchObject({ choices: false })

  script.version = '2'
  upstream.answer = choices(2)
  await probeAgain(script)
  await until(() => abilityProbes(upstream) === 2)
  await until(() => abilitiesOf(engine)?.choices === true && engine.capabilities.fleet?.replicas()[0]?.found?.version === '2')
  await probeAgain(script)
  expect(abilityProbes(upstream)).toBe(2)
})

test('a server without a version is probed again after it was down', async () => {
  const { upstream, script } = await server(undefined)
  const engine = await probingEngine(upstream)
  await until(() => abilitiesOf(engine)?.choices === false)
  script.isDown = true
  for (let turn = 0; turn < 2; turn++) await probeAgain(script)
  script.isDown = false
  expect(abilityProbes(upstream)).toBe(1)
  await probeAgain(script)
  await until(() => abilityProbes(upstream) === 2)
  await probeAgain(script)
  expect(abilityProbes(upstream)).toBe(2)
})

test('the abilities of an old version are not used for the next one', async () => {
  const { upstream, script } = await server('1')
  const held: (() => void)[] = []
  upstream.answer = async (request, response) => {
    const isOld = 'n' in request.body && held.length === 0
    if (isOld) await new Promise<void>((resolve) => held.push(resolve))
    await choices(isOld ? 1 : 2)(request, response)
  }
  const engine = await probingEngine(upstream)
  await until(() => held.length === 1)
  script.version = '2'
  await probeAgain(script)
  await until(() => engine.capabilities.fleet?.replicas()[0]?.found?.version === '2')
  await until(() => abilitiesOf(engine)?.choices === true)
  const probed = upstream.seen.length
  held[0]?.()
  // The probe of the old server ends with its last question, a stream.
  await until(() => upstream.seen.slice(probed).some(({ body }) => body.stream === true))
  await probeAgain(script)
  expect(engine.capabilities.fleet?.replicas()).toMatchObject([{ found: { version: '2', abilities: { choices: true } } }])
  expect(abilityProbes(upstream)).toBe(2)
})

test('a prepared request is checked again when its replica has changed since', async () => {
  const upstream = await startUpstream(choices(1), { ownedBy: 'vllm' })
  const script = { contextLength: 4000, probes: 0 }
  upstream.get = (path, response) => {
    if (path !== '/v1/models') return false
    script.probes += 1
    response.end(JSON.stringify({ data: [{ id: 'up', owned_by: 'vllm', max_model_len: script.contextLength }] }))
    return true
  }
  const engine = engineOver([upstream])
  const request = ask('', { prompt: { type: 'tokens', tokens: Array.from({ length: 3000 }, () => 1) }, maxOutputTokens: 1000 })
  const prepared = await engine.prepare(request, never)
  script.contextLength = 2000
  await probeAgain(script)
  await until(() => engine.facts.contextLength === 2000)
  const run = prepared.run(never, () => undefined)
  await expect(run).rejects.toMatchObject({ code: 'context-length-exceeded', overflow: { contextLength: 2000 } })
  expect(upstream.seen).toEqual([])
})

test('many replicas cause no warning of Node, which would be plain text in the log', async () => {
  const warnings: Error[] = []
  const onWarning = (warning: Error) => void warnings.push(warning)
  process.on('warning', onWarning)
  const server = await startUpstream(choices(1))
  server.get = (_, response) => {
    response.end(JSON.stringify({ data: [{ id: 'up' }] }))
    return true
  }
  const engine = engineOver(Array.from({ length: 64 }, (_, index) => ({ url: `${server.url}?replica=${index}` })))
  await engine.ensureReady(new AbortController().signal)
  await answer(engine, ask('hi'), new AbortController().signal)
  // Node warns in the next tick.
  await new Promise(setImmediate)
  process.off('warning', onWarning)
  expect(warnings).toEqual([])
})

test('a server that another process has ejected gets one request at a time, unless it has just given something here', async () => {
  const told: string[] = []
  let hear: ((url: string, reason: EjectionReason) => void) | undefined
  const ejectionNews: EjectionNews = {
    ejected: (url, reason) => void told.push(`${url} ${reason}`),
    listen: (heard) => {
      hear = heard
      return () => {
        hear = undefined
      }
    },
  }
  let skippedMs = 0
  const one = await startUpstream(choices(1))
  const engine = engineOver([one], { ejectionNews, now: () => performance.now() + skippedMs })
  await answer(engine, ask('hi'))
  const state = () => engine.capabilities.fleet?.replicas()[0]?.state
  hear?.(one.url, 'failures')
  expect(state()).toBe('healthy')
  skippedMs = 3000
  hear?.(one.url, 'failures')
  expect(state()).toBe('half-open')
  await answer(engine, ask('hi'))
  expect(state()).toBe('healthy')
  expect(told).toEqual([])
  await one.close()
  await failure(engine)
  expect(told).toEqual([`${one.url} unreachable`])
  await engine.close()
  expect(hear).toBeUndefined()
})

test('what another process has checked is not checked here, unless it is unknown or unhealthy', async () => {
  const paths: string[] = []
  const passed: string[] = []
  let hear: ((url: string) => void) | undefined
  const news = {
    passed: (url: string) => void passed.push(url),
    listen: (heard: (url: string) => void) => {
      hear = heard
      return () => {
        hear = undefined
      }
    },
  }
  const one = await startUpstream(choices(1))
  one.get = (path) => {
    paths.push(path)
    return false
  }
  let nowMs = 0
  const engine = engineOver([one], { checkNews: news, now: () => nowMs, random: () => 0.5 })
  await engine.ensureReady(never)
  const before = paths.length
  nowMs = 8000
  hear?.(one.url)
  nowMs = 16_000
  await new Promise((resolve) => setTimeout(resolve, 1100))
  expect(paths).toHaveLength(before)
  nowMs = 40_000
  await until(() => paths.length > before)
  await until(() => passed.length > 0)
  expect(passed).toEqual([one.url])
  await engine.close()
  expect(hear).toBeUndefined()
})

test('a server that has not been probed for a minute is probed when a check is due, in its place; without checks, after one and a half', async () => {
  const paths: string[] = []
  const one = await startUpstream(choices(1), { ownedBy: 'vllm' })
  one.get = (path) => {
    paths.push(path)
    return false
  }
  let nowMs = 0
  const engine = engineOver([one], { now: () => nowMs })
  await engine.ensureReady(never)
  // The questions of a probe take one connection.
  expect(one.accepted()).toBe(1)
  const nextCheck = async () => {
    paths.length = 0
    nowMs += 20_000
    await until(() => paths.length > 0)
  }
  vi.advanceTimersByTime(59_000)
  await nextCheck()
  expect(paths).toEqual(['/health'])
  vi.advanceTimersByTime(1000)
  await nextCheck()
  await until(() => paths.length > 1)
  expect(paths).toEqual(['/v1/models', '/version'])
  await nextCheck()
  expect(paths).toEqual(['/health'])

  paths.length = 0
  vi.advanceTimersByTime(89_000)
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(paths).toEqual([])
  vi.advanceTimersByTime(1000)
  await until(() => paths.length > 1)
  expect(paths).toEqual(['/v1/models', '/version'])
})

test('a stale server whose probe fails is as healthy as its check says', async () => {
  const done: string[] = []
  const checkNews = { passed: () => void done.push('passed'), listen: () => () => undefined }
  const one = await startUpstream(choices(1), { ownedBy: 'vllm' })
  let nowMs = 0
  const engine = engineOver([one], { now: () => nowMs, checkNews })
  await engine.ensureReady(never)
  one.get = (path, response) => {
    done.push(path)
    if (path === '/v1/models') response.writeHead(500).end()
    return path === '/v1/models'
  }
  vi.advanceTimersByTime(60_000)
  nowMs = 20_000
  await until(() => done.length > 2)
  expect(done).toEqual(['/v1/models', '/health', 'passed'])
})
