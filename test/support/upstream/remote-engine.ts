import { setMaxListeners } from 'node:events'
import { pino } from 'pino'
import { expect, onTestFinished } from 'vitest'
import type { Engine } from '../../../src/contract/engine.ts'
import type { AppError } from '../../../src/contract/errors.ts'
import { type GenerationRequest, plainChat, plainRequest, type Tool } from '../../../src/contract/request.ts'
import { foldEvents, type GenerationResult } from '../../../src/contract/result.ts'
import { type Generation, generate } from '../../../src/core/generate.ts'
import { createRemoteEngine } from '../../../src/engine/remote/engine.ts'
import type { RemoteEngineOptions } from '../../../src/engine/remote/options.ts'
import { until } from '../http/app.ts'
import { contextOf } from '../http/context.ts'
import { iterate } from '../http/iterate.ts'
import { type Answer, chatChunk, doneLine, type ScriptedUpstream, startUpstream, streamOf, usageChunk } from './upstream.ts'

/** A signal that never fires. */
export const never = new AbortController().signal
setMaxListeners(0, never)

/** The key of every server of `engineOver`: it may be seen nowhere. */
export const secretKey = 'sk-very-secret'

/** What the engines of `engineOver` have written to their log, as text. */
export const logLines: string[] = []
const log = pino({ level: 'debug' }, { write: (line: string) => void logLines.push(line) })

/** An upstream that is closed when the test is over. */
export async function upstream(...args: Parameters<typeof startUpstream>): Promise<ScriptedUpstream> {
  return closedAfterwards(await startUpstream(...args))
}

/** An engine over these servers, of the model `m`, that is closed when the test is over. The servers take turns. */
export function engineOver(
  servers: readonly Pick<ScriptedUpstream, 'url'>[],
  options: Partial<RemoteEngineOptions> = {},
): Engine {
  const endpoints = servers.map(({ url }) => ({ url, weight: 1, apiKey: secretKey }))
  return closedAfterwards(
    createRemoteEngine({ id: 'm', endpoints, connections: 16, log, random: () => 0, affinity: 'off', ...options }),
  )
}

/** The same, when each server has been probed: what it can do is known. */
export async function knownEngine(...args: Parameters<typeof engineOver>): Promise<Engine> {
  const engine = engineOver(...args)
  await engine.ensureReady(never)
  await until(() => engine.capabilities.fleet?.replicas().every(({ found }) => found !== undefined) === true)
  return engine
}

/** Closes something when the test is over, what was opened last first. */
export function closedAfterwards<T extends { close(): Promise<void> }>(one: T): T {
  onTestFinished(() => one.close())
  return one
}

/** A request of one message. */
export function ask(text: string, options: Partial<GenerationRequest> = {}, tools: readonly Tool[] = []): GenerationRequest {
  const messages = [{ role: 'user' as const, content: [{ type: 'text' as const, text }] }]
  return { ...plainRequest, id: 'x', model: 'm', prompt: { type: 'chat', ...plainChat, messages, tools }, ...options }
}

/** The events of an answer, as `generate` seals them. */
export function eventsOf(engine: Engine, request: GenerationRequest, signal = never) {
  return iterate(start(engine, request, signal).run)
}

/** A whole answer. Rejects with what made it fail. */
export function answer(engine: Engine, request: GenerationRequest, signal = never): Promise<GenerationResult> {
  return foldEvents(start(engine, request, signal))
}

function start(engine: Engine, request: GenerationRequest, signal: AbortSignal): Generation {
  return generate({ now: () => performance.now() }, [request], contextOf(engine, { signal, slots: 32, maxQueued: 32 }))
}

/** Why a request fails; that it does not is the test's failure. */
export function failure(engine: Engine, request = ask('hi'), signal = never): Promise<AppError> {
  return answer(engine, request, signal).then(
    () => expect.unreachable('it should have failed'),
    (error: unknown) => error as AppError,
  )
}

/** The answer `ok`, whole and counted. */
export const fine: Answer = streamOf(chatChunk({ delta: { content: 'ok' }, finish_reason: 'stop' }), usageChunk(3, 1), doneLine)

/** Answers with a status and a body, as JSON unless the headers say otherwise. */
export function refusing(status: number, body: string | Buffer, headers: Record<string, string> = {}): Answer {
  return (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(body)
  }
}
