import { setMaxListeners } from 'node:events'
import { readFile } from 'node:fs/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ActiveRuns } from '../../base/active-runs.ts'
import { type Emit, emitAll } from '../../base/emit.ts'
import { textOfFile } from '../../base/text/utf8.ts'
import { fileReason } from '../../canonical/failure-reason.ts'
import type { Engine, RenderRequest, Tokenizer } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import type { EngineEvent } from '../../contract/event.ts'
import { field } from '../../contract/field.ts'
import type { FormatSettings } from '../../contract/output-format.ts'
import type { GenerationRequest } from '../../contract/request.ts'
import type { TemplateChoice } from '../../contract/template.ts'
import { type ModelFormat, recogniseFormat, requestFormat } from '../../model-text/model-format.ts'
import { type ChatTemplate, compileChatTemplate } from '../../model-text/template/chat-template.ts'
import { refuseOtherAdapters } from '../shared/adapters.ts'
import { checkContextFit } from '../shared/context-fit.ts'
import { ObservedState } from '../shared/observed-state.ts'
import { chosenTemplate, noTemplate, templateFacts, templateOf } from '../shared/template-choice.ts'
import { play } from './play.ts'
import { parseScriptFile, type Script, scriptFromRequest, textsOf } from './script.ts'
import { fakeEmbeddingLength, fakeEmbeddings, fakePromptTokens, fakeText, fakeTokens } from './text-work.ts'
import { countWords } from './words.ts'

type FakeEngineOptions = FormatSettings & {
  /** `from-request`, the path of a YAML file, or what chooses the reply. */
  readonly script: string | Script
  /** The path of a Jinja file. */
  readonly chatTemplate?: string
  readonly contextLength?: number
  /** Finds the template that is used until an operator switches to another; absent, or undefined: its own. */
  readonly findTemplate?: () => Promise<TemplateChoice | undefined>
}

/**
 * A scripted model in process, for tests, benchmarks and trying out agents. Sampling, constraints and reasoning budgets have no effect.
 * Input tokens are the words of the prompt; one chunk is one output token, with probability 1. Its tokenizer returns bytes; its vectors
 * are sums over words. The delay before the first chunk counts as prefill.
 */
export function createFakeEngine(options: FakeEngineOptions): Engine {
  const state = new ObservedState()
  let loading: Promise<Loaded> | undefined
  let ownTemplate: string | undefined
  let chosen: TemplateChoice | undefined
  let given: TemplateChoice = { type: 'own' }
  let closing = createClosing()
  const active = new ActiveRuns()

  const load = async (): Promise<Loaded> => {
    state.current = { type: 'loading', progress: 0 }
    try {
      const files = await loadFiles(options)
      ownTemplate = files.ownTemplate
      given = (await options.findTemplate?.()) ?? { type: 'own' }
      const loaded = { ...files, ...readTemplate(chosen ?? given, files.ownTemplate, options) }
      state.current = { type: 'ready' }
      return loaded
    } catch (error) {
      loading = undefined
      const reason = AppError.from(error)
      state.current = { type: 'failed', reason: reason.message }
      throw reason
    }
  }
  const ensureLoaded = async (signal: AbortSignal): Promise<Loaded> => {
    signal.throwIfAborted()
    if (state.current.type === 'draining') throw new AppError('shutting-down', 'the model is being unloaded; try again later')
    loading ??= load()
    const loaded = await loading
    signal.throwIfAborted()
    return loaded
  }

  const partFor = (loaded: Pick<Loaded, 'ownTemplate'> & TemplatePart, prompt: GenerationRequest['prompt']): TemplatePart => {
    const wanted = templateOf(prompt)
    return wanted === undefined ? loaded : readTemplate(wanted, loaded.ownTemplate, options)
  }
  const tokenize: Tokenizer['tokenize'] = async ({ prompt, ...options }, signal) => {
    const loaded = await ensureLoaded(signal)
    return fakeTokens(
      prompt.type === 'text' ? prompt.text : renderText(partFor(loaded, prompt), { prompt, ...options }),
      prompt.type,
    )
  }
  const close = async () => {
    await loading?.catch(() => undefined)
    loading = undefined
    state.current = { type: 'stopped' }
    closing.abort(unloaded())
    closing = createClosing()
  }

  return {
    get state() {
      return state.current
    },
    onState: state.observe,
    get facts() {
      return {
        embeddingLength: fakeEmbeddingLength,
        modalities: { image: true, audio: true, video: true },
        ...(options.contextLength !== undefined && { contextLength: options.contextLength }),
        ...templateFacts(chosen ?? given, ownTemplate),
        // The fake model reads prompts without a template, so a switch can always be undone.
        hasOwnTemplate: true as const,
      }
    },
    ensureReady: async (signal) => {
      await ensureLoaded(signal)
    },
    prepare: async (request, signal) => {
      refuseOtherAdapters(request, { model: request.model, adapters: [] })
      const { script, ...loaded } = await ensureLoaded(signal)
      const { template, format } = partFor(loaded, request.prompt)
      if (request.prompt.type === 'chat' && chosen?.type === 'none' && template === undefined) throw noTemplate(chosen)
      const outputFormat = await planFormat(request, template, format)
      const reply = script(request.prompt)
      const promptTokens = fakePromptTokens(request)
      const inputTokens = await countPrompt(request.prompt)
      const maxOutputTokens = planOutput(request, inputTokens, options.contextLength)
      const plan = { reply, inputTokens, promptTokens, maxOutputTokens, request, outputFormat, closing: closing.signal }
      const run = (runSignal: AbortSignal, emit: Emit<EngineEvent>) => active.track(() => emitAll(play(plan, runSignal), emit))
      const can = { reportsPrompt: true, keepsMinimum: true, usesTemplate: true } as const
      return { inputTokens, ...(outputFormat !== undefined && { outputFormat }), ...can, run }
    },
    capabilities: {
      templates: {
        use: async (wanted, signal) => {
          const loaded = await ensureLoaded(signal)
          loading = Promise.resolve({ ...loaded, ...readTemplate(wanted, loaded.ownTemplate, options) })
          chosen = wanted
        },
      },
      tokenizer: {
        tokenize,
        pieces: async (request, signal) => (await tokenize(request, signal)).map((id) => ({ id, bytes: Uint8Array.of(id) })),
        // Counts as generations do, without a template.
        count: ({ prompt }) => countPrompt(prompt),
        detokenize: async ({ tokens }, signal) => {
          await ensureLoaded(signal)
          return fakeText(tokens)
        },
        render: async (request, signal) => renderText(partFor(await ensureLoaded(signal), request.prompt), request),
      },
      embedder: {
        embed: async (inputs, signal) => {
          await ensureLoaded(signal)
          return fakeEmbeddings(inputs, options.contextLength, signal)
        },
      },
    },
    unload: async ({ drainMs }) => {
      state.current = { type: 'draining' }
      await active.idleWithin(drainMs)
      await close()
    },
    close,
  }
}

type Files = { readonly script: Script; readonly ownTemplate: string | undefined }
type TemplatePart = { readonly template: ChatTemplate | undefined; readonly format: ModelFormat }
type Loaded = Files & TemplatePart

async function loadFiles({ script, chatTemplate }: FakeEngineOptions): Promise<Files> {
  const ownTemplate = chatTemplate === undefined ? undefined : await readText('chat template', chatTemplate)
  return { script: await readScript(script), ownTemplate }
}

function readTemplate(choice: TemplateChoice, own: string | undefined, settings: FormatSettings): TemplatePart {
  const source = chosenTemplate(choice, own)
  const format = recogniseFormat(source, settings)
  return { template: source === undefined ? undefined : compileChatTemplate(source, {}, format), format }
}

/** The format of a reply. A conversation that the template refuses is refused, although the rendered prompt is not used. */
async function planFormat(request: GenerationRequest, template: ChatTemplate | undefined, format: ModelFormat) {
  const { prompt } = request
  if (prompt.type === 'infill') throw cannotFillIn()
  if (template !== undefined) refuseLongRender(prompt)
  const rendered = prompt.type === 'chat' ? template?.render(prompt, request) : undefined
  if (rendered !== undefined) await nextTurn()
  return requestFormat(format, prompt, rendered?.startsInReasoning ?? false)
}

function renderText({ template }: TemplatePart, { prompt, ...options }: RenderRequest): string {
  if (template === undefined) {
    const message = 'this fake model has no chat template; set `chatTemplate` for it in the configuration, or switch to one'
    throw new AppError('template-failed', message)
  }
  return template.render(prompt, options).text
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

/** A token id counts as one, and is not written out as text for it. */
async function countPrompt(prompt: GenerationRequest['prompt']): Promise<number> {
  return prompt.type === 'tokens' ? prompt.tokens.length : countWords(textsOf(prompt))
}

async function readScript(script: string | Script): Promise<Script> {
  if (typeof script === 'function') return script
  return script === 'from-request' ? scriptFromRequest : parseScriptFile(await readText('script', script), script)
}

async function readText(kind: string, path: string): Promise<string> {
  try {
    return textOfFile(await readFile(path))
  } catch (error) {
    const message = `the fake engine cannot read its ${kind} '${path}': ${fileReason(error)}`
    throw new AppError('model-unavailable', message, { cause: error })
  }
}

/** A template is rendered on the main thread here, so a long one would block everything else. */
function refuseLongRender(prompt: GenerationRequest['prompt']): void {
  if (prompt.type !== 'chat') return
  const sizes = { messages: prompt.messages.length, tools: prompt.tools.length, chars: totalChars(textsOf(prompt)) }
  for (const [what, limit] of [
    ['messages', 3000],
    ['tools', 500],
    ['chars', 2_000_000],
  ] as const) {
    if (sizes[what] <= limit) continue
    const message = `the fake engine renders conversations of at most ${limit} ${what}, and this one has ${sizes[what]}: shorten it`
    throw new AppError('invalid-request', message, { at: ['prompt', what === 'tools' ? 'tools' : 'messages'] })
  }
}

function totalChars(texts: readonly string[]): number {
  return texts.reduce((sum, { length }) => sum + length, 0)
}

function cannotFillIn(): AppError {
  const message = `${field('prompt', 'suffix')} is not supported by the fake engine: it cannot fill in the middle; leave it out`
  return new AppError('unsupported-field', message, { at: ['prompt', 'suffix'] })
}

function unloaded(): AppError {
  return new AppError('model-unavailable', 'the model was unloaded')
}

/** Ends all replies that are played. */
function createClosing(): AbortController {
  const closing = new AbortController()
  // Every reply with pauses adds a listener.
  setMaxListeners(0, closing.signal)
  return closing
}
