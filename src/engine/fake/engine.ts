import { readFile } from 'node:fs/promises'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { checkContextFit } from '../../core/context-fit.ts'
import type { Engine, EngineState } from '../../core/engine.ts'
import { AppError, messageOf } from '../../core/errors.ts'
import type { EngineEvent } from '../../core/event.ts'
import { StopStrings } from '../../core/parse/stop-strings.ts'
import type { GenerationRequest } from '../../core/request.ts'
import { type ChatTemplate, compileChatTemplate } from '../../core/template/chat-template.ts'
import { parseScriptFile, type Script, type ScriptedReply, scriptFromRequest, textsOf } from './script.ts'

export type FakeEngineOptions = {
  /** `from-request`, or the path of a YAML file. */
  readonly script: string
  /** The path of a Jinja file. */
  readonly chatTemplate?: string
  readonly contextLength?: number
}

/** How many chunks may follow each other before everything else in the process gets its turn. */
const chunksPerTurn = 64

/**
 * A model whose answers are scripted, in process: for tests, benchmarks and people who try out their agents. Sampling
 * settings do not apply to it. Input tokens are the white-space-separated words of the prompt's texts; one chunk is one
 * output token. The delay before the first chunk is the time that reading the prompt takes.
 */
export function createFakeEngine(options: FakeEngineOptions): Engine {
  let state: EngineState = { type: 'stopped' }
  let loading: Promise<Loaded> | undefined
  const running = new Set<AbortController>()

  const load = async (): Promise<Loaded> => {
    state = { type: 'loading', progress: 0 }
    try {
      const loaded = await loadFiles(options)
      state = { type: 'ready' }
      return loaded
    } catch (error) {
      loading = undefined
      const reason = AppError.from(error)
      state = { type: 'failed', reason: reason.message }
      throw reason
    }
  }
  const ensureLoaded = async (signal: AbortSignal): Promise<Loaded> => {
    signal.throwIfAborted()
    loading ??= load()
    const loaded = await loading
    signal.throwIfAborted()
    return loaded
  }

  return {
    get state() {
      return state
    },
    facts: options.contextLength === undefined ? {} : { contextLength: options.contextLength },
    ensureReady: async (signal) => {
      await ensureLoaded(signal)
    },
    prepare: async (request, signal) => {
      const { script, template } = await ensureLoaded(signal)
      // Nothing reads the prompt, but a conversation that the template refuses is refused here as well.
      if (request.prompt.type === 'chat') template?.render(request.prompt)
      const reply = script(request.prompt)
      const inputTokens = countWords(textsOf(request.prompt))
      const plan = {
        reply,
        inputTokens,
        maxOutputTokens: planOutput(request, inputTokens, options.contextLength),
        request,
        running,
      }
      return { inputTokens, run: (runSignal) => play(plan, runSignal) }
    },
    close: async () => {
      await loading?.catch(() => undefined)
      loading = undefined
      state = { type: 'stopped' }
      for (const controller of running) controller.abort(unloaded())
    },
  }
}

/** What the engine reads from files when it loads. */
type Loaded = { readonly script: Script; readonly template: ChatTemplate | undefined }

async function loadFiles({ script, chatTemplate }: FakeEngineOptions): Promise<Loaded> {
  return {
    script: await readScript(script),
    template: chatTemplate === undefined ? undefined : compileChatTemplate(await readText('chat template', chatTemplate), {}),
  }
}

type Plan = {
  readonly reply: ScriptedReply
  readonly inputTokens: number
  readonly maxOutputTokens: number
  readonly request: GenerationRequest
  readonly running: Set<AbortController>
}

/** One generator and no more: each one that an event passes through costs as much as making the event. */
async function* play(plan: Plan, caller: AbortSignal): AsyncGenerator<EngineEvent> {
  const { reply, inputTokens, maxOutputTokens, request } = plan
  const stops = new StopStrings(request.stop)
  // A model that may not end its turn goes on; a script has nothing else to say, so it starts over.
  const repeats = request.ignoreEos && reply.finish === 'stop' && reply.chunks.length > 0
  const wantedTokens = Math.min(repeats ? Number.POSITIVE_INFINITY : reply.chunks.length, maxOutputTokens)
  const times = { startedMs: performance.now(), firstMs: performance.now() }
  let sent = 0
  let stop: string | undefined
  const controller = new AbortController()
  const { signal } = controller
  const forward = () => controller.abort(caller.reason)
  caller.addEventListener('abort', forward, { once: true })
  if (caller.aborted) forward()
  plan.running.add(controller)
  try {
    signal.throwIfAborted()
    while (stop === undefined && sent < wantedTokens) {
      if (reply.delayMs > 0) await pause(reply.delayMs, signal)
      else if (sent % chunksPerTurn === chunksPerTurn - 1) await nextTurn()
      signal.throwIfAborted()
      if (sent === reply.failAfter) throw scriptedFailure(sent)
      if (sent === 0) {
        times.firstMs = performance.now()
        yield { type: 'prompt-read', inputTokens, cachedInputTokens: 0 }
      }
      const pushed = stops.push(reply.chunks[sent % reply.chunks.length] ?? '')
      sent += 1
      stop = pushed.stop
      if (pushed.text !== '') yield { type: 'raw-text', choice: 0, text: pushed.text }
    }
    yield* planEnd(plan, { sent, stop, held: stop === undefined ? stops.end() : '', times })
  } finally {
    plan.running.delete(controller)
    caller.removeEventListener('abort', forward)
  }
}

type Played = {
  readonly sent: number
  readonly stop: string | undefined
  readonly held: string
  readonly times: { readonly startedMs: number; readonly firstMs: number }
}

/** What comes when the chunks are over. */
function planEnd({ reply, inputTokens, maxOutputTokens }: Plan, { sent, stop, held, times }: Played): EngineEvent[] {
  const limited = stop === undefined && sent >= maxOutputTokens
  if (stop === undefined && !limited && sent === reply.failAfter) throw scriptedFailure(sent)
  const events: EngineEvent[] = []
  if (sent === 0) events.push({ type: 'prompt-read', inputTokens, cachedInputTokens: 0 })
  if (held !== '') events.push({ type: 'raw-text', choice: 0, text: held })
  const reason = stop !== undefined ? 'stop' : limited ? 'length' : reply.finish
  events.push({ type: 'finish', choice: 0, reason, ...(stop !== undefined && { stopSequence: stop }) })
  events.push({
    type: 'usage',
    usage: { inputTokens, cachedInputTokens: 0, outputTokens: sent, reasoningTokens: 0 },
    timings: {
      prefillMs: Math.round(times.firstMs - times.startedMs),
      decodeMs: Math.round(performance.now() - times.firstMs),
    },
  })
  return events
}

/** How many tokens may be generated. Throws `context-length-exceeded` when they do not fit. */
function planOutput(request: GenerationRequest, inputTokens: number, contextLength: number | undefined): number {
  const { maxOutputTokens, ignoreEos } = request
  if (contextLength === undefined) {
    if (ignoreEos && maxOutputTokens === undefined) {
      throw new AppError('invalid-request', "output that ignores the model's end needs a limit: set the maximum of output tokens")
    }
    return maxOutputTokens ?? Number.POSITIVE_INFINITY
  }
  checkContextFit({ inputTokens, outputTokens: maxOutputTokens, contextLength })
  return maxOutputTokens ?? contextLength - inputTokens
}

function countWords(texts: readonly string[]): number {
  return texts.reduce((count, text) => count + (text.match(/\S+/g)?.length ?? 0), 0)
}

async function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(delayMs, undefined, { signal })
  } catch (error) {
    // The timer rejects with an error of its own; the reason says why the request ended.
    throw signal.aborted ? signal.reason : error
  }
}

async function readScript(script: string): Promise<Script> {
  return script === 'from-request' ? scriptFromRequest : parseScriptFile(await readText('script', script), script)
}

async function readText(kind: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    const message = `the fake engine cannot read its ${kind} '${path}': ${messageOf(error)}`
    throw new AppError('model-unavailable', message, { cause: error })
  }
}

function scriptedFailure(sent: number): AppError {
  return new AppError('engine-failed', `the fake engine broke after ${sent} chunks, as its script says`)
}

function unloaded(): AppError {
  return new AppError('model-unavailable', 'the model was unloaded')
}
