import { AppError } from '../../contract/errors.ts'
import type { NameOf } from '../../contract/field.ts'
import type { GenerationRequest } from '../../contract/request.ts'
import type { ServedModel } from '../../contract/served-model.ts'
import type { LoadSettings } from '../../contract/server/lifecycle.ts'
import { answer } from '../../core/tool-loop/answer.ts'
import { withTicket } from '../../core/uses/with-ticket.ts'
import { decodePredict, decodeRaw } from '../../dialect/lm-studio-sdk/decode-predict.ts'
import { createPredictEncoder } from '../../dialect/lm-studio-sdk/encode-predict.ts'
import { type KvStack, parameters, settingsOf } from '../../dialect/lm-studio-sdk/messages.ts'
import { readSource } from '../../dialect/ollama/names.ts'
import { authorize } from '../access/auth.ts'
import { keepLoaded } from '../run/keep-loaded.ts'
import { type Call, findModel, findNamed, instanceOf, type Namespace, read } from './call.ts'
import { contextOf, noLifecycle } from './endpoints.ts'

/** Serves a channel until it ends. Rejects with what goes wrong. */
type Channel = (call: Call, parameter: unknown) => Promise<void>

const loadEveryMs = 250

const loading: Readonly<Record<string, Channel>> = {
  getOrLoad: async (call, parameter) => {
    const { identifier, loadConfigStack, loadTtlMs } = read(parameters.getOrLoad, parameter)
    let model = await findModel(call, identifier)
    refuseOther(call, model)
    const info = await instanceOf(call, model, identifier)
    // As LM Studio has it, the settings are for a model that is not loaded; its context is in what the client gets.
    if (model.engine.state.type === 'ready') {
      await call.send({ type: 'alreadyLoaded', info })
    } else {
      await call.send({ type: 'startLoading', identifier, info })
      const settings = settingsOfLoad(loadConfigStack)
      const mayChange = call.principal.scopes.has('admin') && call.deps.lifecycle !== undefined
      if (mayChange && Object.keys(settings).length > 0) model = await loadWith(call, model, settings, 'loadProgress')
      else await loadFor(call, model)
      await call.send({ type: 'loadSuccess', info: await instanceOf(call, model, identifier) })
    }
    keep(call, model, loadTtlMs)
  },
  loadModel: async (call, parameter) => {
    const { modelKey, identifier, loadConfigStack, ttlMs } = read(parameters.loadModel, parameter)
    authorize(call.principal, 'admin')
    const model = await findModel(call, modelKey)
    refuseOther(call, model)
    await call.send({ type: 'resolved', info: await instanceOf(call, model) })
    const loaded = await loadWith(call, model, settingsOfLoad(loadConfigStack), 'progress')
    if (typeof identifier === 'string') call.aliases.set(identifier, model.id)
    await call.send({ type: 'success', info: await instanceOf(call, loaded, identifier ?? undefined) })
    keep(call, loaded, ttlMs)
  },
}

const channels: Readonly<Partial<Record<Namespace, Readonly<Record<string, Channel>>>>> = {
  llm: {
    ...loading,
    predict: async (call, parameter) => {
      const given = read(parameters.predict, parameter)
      const model = await findNamed(call, given.modelSpecifier)
      await predict(call, model, decodePredict(model.id, given, call.turn.caller.id))
    },
    completeRawText: async (call, parameter) => {
      const given = read(parameters.complete, parameter)
      const model = await findNamed(call, given.modelSpecifier)
      await predict(call, model, decodeRaw(model.id, given, call.turn.caller.id))
    },
  },
  embedding: loading,
  repository: {
    downloadModel: async (call, parameter) => {
      const { deps, principal, turn } = call
      authorize(principal, 'admin')
      if (deps.lifecycle === undefined) throw noLifecycle()
      const startedMs = deps.now()
      const wanted = {
        ...readSource(read(parameters.download, parameter).downloadIdentifier),
        settings: {},
        reloads: false,
        endsRequests: false,
      }
      const { model } = await deps.lifecycle.load(
        { ...wanted, isBeside: true },
        {
          principal,
          signal: turn.caller.signal,
          onProgress: ({ phase, doneBytes, totalBytes }) => {
            if (phase !== 'downloading') return
            const seconds = Math.max(1, deps.now() - startedMs) / 1000
            const update = { downloadedBytes: doneBytes, totalBytes, speedBytesPerSecond: Math.round(doneBytes / seconds) }
            void call.send({ type: 'downloadProgress', update })
          },
        },
      )
      await call.send({ type: 'startFinalizing' })
      await call.send({ type: 'success', defaultIdentifier: model.id })
    },
  },
}

/** The channel of an endpoint; undefined for one that is not served. */
export function channelOf(namespace: Namespace, name: string): Channel | undefined {
  const known = channels[namespace]
  return known !== undefined && Object.hasOwn(known, name) ? known[name] : undefined
}

type Decoded = { readonly request: GenerationRequest; readonly nameOf: NameOf }

async function predict(call: Call, model: ServedModel, { request, nameOf }: Decoded): Promise<void> {
  const { deps, turn } = call
  const context = contextOf(call, model)
  let instance = await instanceOf(call, model)
  const encode = createPredictEncoder(() => instance)
  try {
    await answer(deps, [request], context).run(async (event) => {
      turn.observe(event)
      if (event.type === 'error') throw event.error
      if (event.type === 'usage') instance = await instanceOf(call, model)
      for (const message of encode(event)) await call.send(message)
    })
  } catch (error) {
    throw AppError.from(error).inWordsOf(nameOf)
  }
}

/** Throws in the namespace of embeddings for a model that makes none. */
function refuseOther({ namespace }: Call, { id, engine }: ServedModel): void {
  if (namespace !== 'embedding' || engine.capabilities.embedder !== undefined) return
  throw new AppError('invalid-request', `model '${id}' makes no embeddings; choose another model`)
}

/** Loads the model with the settings; messages of the type say how far it is. */
async function loadWith(call: Call, { id }: ServedModel, settings: LoadSettings, type: string): Promise<ServedModel> {
  const { deps, principal, turn, send } = call
  if (deps.lifecycle === undefined) throw noLifecycle()
  await deps.lifecycle.load(
    { name: id, settings, keepsSettings: true, reloads: false, endsRequests: false },
    { principal, signal: turn.caller.signal, onProgress: ({ fraction }) => void send({ type, progress: fraction }) },
  )
  return findModel(call, id)
}

/** Waits until the model is loaded, as a request for it does. */
async function loadFor(call: Call, model: ServedModel): Promise<void> {
  const { caller } = call.turn
  let timer: NodeJS.Timeout | undefined
  const context = {
    ...contextOf(call, model),
    onLoading: (placeOf: Parameters<NonNullable<typeof caller.onLoading>>[0]) => {
      caller.onLoading?.(placeOf)
      clearInterval(timer)
      timer = setInterval(() => {
        const place = placeOf()
        if (place?.state === 'loading') void call.send({ type: 'loadProgress', progress: place.progress })
      }, loadEveryMs)
    },
  }
  try {
    await withTicket(context, async ({ ticket }) => ticket.ready(caller.signal), 'free')
  } finally {
    clearInterval(timer)
  }
}

function keep({ principal }: Call, model: ServedModel, ttlMs: number | null | undefined): void {
  if (typeof ttlMs === 'number') keepLoaded({ ms: ttlMs, field: 'ttlMs' }, principal).keep(model)
}

/** The settings of a load; others, such as how layers share a GPU, are those of the configuration. */
function settingsOfLoad(stack: KvStack): LoadSettings {
  const settings = settingsOf(stack)
  const contextLength = settings.get('llm.load.contextLength') ?? settings.get('embedding.load.contextLength')
  const flashAttention = settings.get('llm.load.llama.flashAttention')
  return {
    ...(typeof contextLength === 'number' && { contextLength }),
    ...(typeof flashAttention === 'boolean' && { flashAttention }),
  }
}
