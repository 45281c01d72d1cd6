// `dragoman/testing`: a model from a script, for tests of agents and clients, and a check of any server.
import { createDragoman } from './app/create-dragoman.ts'
import type { GenerationRequest } from './contract/request.ts'
import { createFakeEngine } from './engine/fake/engine.ts'
import { scriptOf } from './engine/fake/script.ts'

export { type CheckOptions, type CheckReport, type CheckResult, check } from './check/check.ts'

const thinkTags = { open: '<think>', close: '</think>' }

/** One reply of a scripted model, and its conditions. In texts and arguments, `$1` to `$99` are groups of the pattern that matched. */
export type ScriptedTurn = {
  /** A pattern for the last user message; absent: any message. */
  readonly match?: string
  /** A pattern for the results of tools; absent: any results, or none. */
  readonly result?: string
  /** The model's reasoning, which comes first. */
  readonly think?: string
  /** The model's text. */
  readonly say?: string
  /** The tools that it then calls. As with any model, a call of a tool that the request does not declare is text. */
  readonly calls?: readonly { readonly name: string; readonly arguments: object }[]
  /** `length`: the reply is truncated at its end. Default: `stop`, or the reason for calls. */
  readonly finish?: 'stop' | 'length'
  /** Milliseconds before each word. Default: 0. */
  readonly delayMs?: number
  /** The model fails after this many words. */
  readonly failAfter?: number
}

/** A running server with a scripted model. */
export type ScriptedModel = AsyncDisposable & {
  /** The base URL of OpenAI's clients: `http://127.0.0.1:PORT/v1`. */
  readonly openaiUrl: string
  /** The base URL of Anthropic's and Ollama's clients: `http://127.0.0.1:PORT`. */
  readonly url: string
  /** The requests that the model received, in order, in Dragoman's own form. */
  readonly requests: readonly GenerationRequest[]
  close(): Promise<void>
}

/**
 * Starts a server on a free port of loopback, whose model answers to every name and plays the first turn that fits. Throws
 * `model-unavailable` for a script that is wrong, and answers a message that no turn fits with an error that says so.
 *
 * @example
 * const model = await startScripted([
 *   { result: '(\\d+) degrees', say: 'It has $1 degrees.' },
 *   { match: 'weather in (\\w+)', calls: [{ name: 'get_weather', arguments: { city: '$1' } }] },
 *   { say: 'I do not know.' },
 * ])
 * const client = new OpenAI({ baseURL: model.openaiUrl, apiKey: 'unused' })
 */
export async function startScripted(turns: readonly ScriptedTurn[]): Promise<ScriptedModel> {
  const requests: GenerationRequest[] = []
  const script = scriptOf(turns.map(toEntry), 'of startScripted')
  const engine = createFakeEngine({ script, toolFormat: 'hermes', reasoningTags: thinkTags })
  const { prepare } = engine
  const recording = {
    ...engine,
    get state() {
      return engine.state
    },
    prepare: ((request, signal) => {
      requests.push(request)
      return prepare(request, signal)
    }) as typeof prepare,
  }
  const dragoman = await createDragoman({
    config: { server: { port: 0 }, builtinModel: false, storage: 'off' },
    models: [{ id: 'scripted', aliases: ['default', '*'], engine: recording, slots: 64 }],
  })
  const url = await dragoman.listen()
  return { url, openaiUrl: `${url}/v1`, requests, close: dragoman.close, [Symbol.asyncDispose]: dragoman.close }
}

/** Writes a turn in the text format that the engine's parser reads. */
function toEntry({ match, result, think, say = '', calls = [], ...reply }: ScriptedTurn): object {
  const thought = think === undefined ? '' : `${thinkTags.open}${think}${thinkTags.close}`
  const written = calls.map((call) => `<tool_call>${JSON.stringify(call)}</tool_call>`).join('')
  return {
    ...(match !== undefined && { match }),
    ...(result !== undefined && { result }),
    reply: { raw: thought + say + written, ...reply },
  }
}
