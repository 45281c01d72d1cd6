import type { PreparedGeneration } from '../../../src/contract/engine.ts'
import type { EngineEvent } from '../../../src/contract/event.ts'
import { plainRequest } from '../../../src/contract/request.ts'
import { createFakeEngine } from '../../../src/engine/fake/engine.ts'
import type { Command, Report } from '../../../src/engine/llama/channel/ipc.ts'
import { machineMs } from '../../../src/engine/llama/channel/machine-clock.ts'
import { LlamaEngine } from '../../../src/engine/llama/engine.ts'
import type { SpawnWorker, WorkerExit } from '../../../src/engine/llama/process.ts'
import { ready } from './fake-workers.ts'

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined }

/** The `llama` engine over a worker that writes the text that the fake engine would, instead of a model's. */
export function scriptedLlama(chatTemplate: string): LlamaEngine {
  const locate = async () => ({ modelPath: 'm.gguf', slots: 4, flashAttention: true })
  return new LlamaEngine({ id: 'scripted', locate, log: quiet, spawn: (handlers) => new ScriptedWorker(handlers, chatTemplate) })
}

type Handlers = Parameters<SpawnWorker>[0]
type RunCommand = Extract<Command, { type: 'run' }>

class ScriptedWorker {
  readonly pid = 1
  readonly exited: Promise<WorkerExit>
  readonly #handlers: Handlers
  readonly #fake: ReturnType<typeof createFakeEngine>
  readonly #prepared = new Map<string, PreparedGeneration>()
  readonly #running = new Map<string, AbortController>()
  #exit: (exit: WorkerExit) => void = () => undefined

  constructor(handlers: Handlers, chatTemplate: string) {
    this.#handlers = handlers
    this.#fake = createFakeEngine({ script: 'from-request', chatTemplate })
    this.exited = new Promise((resolve) => {
      this.#exit = resolve
    })
  }

  readonly send = (command: Command): void => {
    void this.#answer(command)
  }

  readonly kill = async (): Promise<void> => {
    this.#exit({ description: 'killed', lastLines: [], fromOutside: false })
  }

  async #answer(command: Command): Promise<void> {
    switch (command.type) {
      case 'load':
        await this.#fake.ensureReady(new AbortController().signal)
        return this.#report({ ...ready, contextLength: 100_000, chatTemplate: this.#fake.facts.chatTemplate ?? '' })
      case 'ping':
        return this.#report({ type: 'pong' })
      case 'prepare':
        return this.#prepare(command)
      case 'run':
        return this.#run(command)
      case 'cancel':
        return this.#running.get(command.id)?.abort(new Error('cancelled'))
      case 'ask':
      case 'use-template':
      case 'pause':
      case 'resume':
        return undefined
    }
  }

  async #prepare({ id, prompt, reasoning }: Extract<Command, { type: 'prepare' }>): Promise<void> {
    const request = { ...plainRequest, id, model: 'm', prompt, reasoning }
    const prepared = await this.#fake.prepare(request, new AbortController().signal)
    this.#prepared.set(id, prepared)
    const tokens = new Uint32Array(prepared.inputTokens ?? 0)
    const format = prepared.outputFormat === undefined ? {} : { format: prepared.outputFormat }
    this.#report({ type: 'prepared', id, tokens, templateMs: 0, reasoningFront: 'never', ...format })
  }

  async #run({ id }: RunCommand): Promise<void> {
    const controller = new AbortController()
    this.#running.set(id, controller)
    const end = { type: 'done', id, reasoningTokens: 0, decodeMs: 0 } as const
    try {
      await this.#prepared.get(id)?.run(controller.signal, (event) => {
        const report = toReport(id, event)
        if (report !== undefined) this.#report(report)
        return undefined
      })
    } catch (error) {
      const failure = { code: 'engine-failed' as const, message: error instanceof Error ? error.message : String(error) }
      this.#report(controller.signal.aborted ? { ...end, cancelled: true, outputTokens: 0 } : { type: 'failed', id, failure })
    }
  }

  #report(report: Report): void {
    this.#handlers.onReport(report)
  }
}

function toReport(id: string, event: EngineEvent): Report | undefined {
  switch (event.type) {
    case 'prompt-read':
      return { type: 'prompt-read', id, cachedTokens: event.cachedInputTokens, cachedIn: 'slot', prefillMs: 0 }
    case 'raw-text':
      return { type: 'text', id, choice: event.choice, text: event.text, madeMs: machineMs() }
    case 'finish':
      return { type: 'choice-done', id, choice: event.choice, reason: event.reason === 'length' ? 'length' : 'stop' }
    case 'usage': {
      const { outputTokens, reasoningTokens } = event.usage
      return { type: 'done', id, cancelled: false, outputTokens, reasoningTokens, decodeMs: 0 }
    }
    default:
      return undefined
  }
}
