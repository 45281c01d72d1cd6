import { AppError } from '../../contract/errors.ts'
import type { ServedModel } from '../../contract/served-model.ts'
import { embed } from '../../core/uses/embed.ts'
import { render, tokenize } from '../../core/uses/use-tokenizer.ts'
import { decodePredict } from '../../dialect/lm-studio-sdk/decode-predict.ts'
import { parameters, type Specifier } from '../../dialect/lm-studio-sdk/messages.ts'
import { encodeInfo, encodeInstance } from '../../dialect/lm-studio-sdk/model-info.ts'
import { encodeOptions, encodeSearch } from '../../dialect/lm-studio-sdk/offers.ts'
import { encodeUpload } from '../../dialect/lm-studio-sdk/pictures.ts'
import { readSource } from '../../dialect/ollama/names.ts'
import { authorize } from '../access/auth.ts'
import { conversationOf } from '../run/conversation.ts'
import { type Call, findModel, findNamed, instanceOf, listModels, type Namespace, read, typeIn } from './call.ts'

/** Answers a call; undefined: there is nothing to say. */
type Endpoint = (call: Call, parameter: unknown) => Promise<unknown>

const ofModels: Readonly<Record<string, Endpoint>> = {
  listLoaded: async (call) => {
    const all = await listModels(call)
    const loaded = all.filter(({ model }) => model.type === typeIn(call) && model.loaded_instances.length > 0)
    return loaded.map(({ model, contextLength }) => encodeInstance(model, { contextLength }))
  },
  getModelInfo: async (call, parameter) => {
    const { specifier, throwIfNotFound } = read(parameters.bySpecifier, parameter)
    try {
      return await instanceOf(call, await findNamed(call, specifier), nameOf(specifier))
    } catch (error) {
      if (throwIfNotFound !== true && AppError.from(error).code === 'model-not-found') return undefined
      throw error
    }
  },
  getLoadConfig: async (call, parameter) => {
    const { contextLength } = await instanceOf(call, await findNamed(call, read(parameters.bySpecifier, parameter).specifier))
    // It is unknown for some models behind other servers.
    return { fields: contextLength > 0 ? [{ key: `${call.namespace}.load.contextLength`, value: contextLength }] : [] }
  },
  unloadModel: async (call, parameter) => {
    const { identifier } = read(parameters.unload, parameter)
    const { deps, principal, aliases } = call
    authorize(principal, 'admin')
    if (deps.lifecycle === undefined) throw noLifecycle()
    const { id } = await findModel(call, identifier)
    await deps.lifecycle.unload(id, { endsRequests: false, principal })
    aliases.delete(identifier)
    return undefined
  },
  tokenize: async (call, parameter) => ({ tokens: await tokensOf(call, parameter) }),
  countTokens: async (call, parameter) => ({ tokenCount: (await tokensOf(call, parameter)).length }),
}

const endpoints: Readonly<Partial<Record<Namespace, Readonly<Record<string, Endpoint>>>>> = {
  system: {
    version: async ({ deps }) => ({ version: deps.version, build: 0 }),
    listDownloadedModels: async (call) => (await listModels(call)).map(({ model }) => encodeInfo(model)),
  },
  llm: {
    ...ofModels,
    // Requests have the defaults of their model, which are not in these words.
    getBasePredictionConfig: async (call, parameter) => {
      await findNamed(call, read(parameters.bySpecifier, parameter).specifier)
      return { fields: [] }
    },
    applyPromptTemplate: async (call, parameter) => {
      const given = read(parameters.template, parameter)
      const model = await findNamed(call, given.specifier)
      const { request } = decodePredict(model.id, given, call.turn.caller.id)
      return { formatted: await render(call.deps, conversationOf(request), contextOf(call, model)) }
    },
  },
  embedding: {
    ...ofModels,
    embedString: async (call, parameter) => {
      const { modelSpecifier, inputString } = read(parameters.embed, parameter)
      const model = await findNamed(call, modelSpecifier)
      const asked = { inputs: [{ type: 'text', text: inputString }], model: model.id } as const
      const { vectors } = await embed(asked, contextOf(call, model))
      return { embedding: [...(vectors[0] ?? [])] }
    },
  },
  repository: {
    searchModels: async (call, parameter) => {
      const { opts } = read(parameters.search, parameter)
      const { findOffers } = forOperators(call)
      const offers = await findOffers(opts.searchTerm ?? '')
      const encoded = encodeSearch(offers, opts)
      if (encoded.results.length === 0 && offers.problem !== undefined) throw new AppError('model-unavailable', offers.problem)
      return encoded
    },
    getModelDownloadOptions: async (call, parameter) => {
      const { identifier } = read(parameters.options, parameter).modelSearchResultIdentifier
      const { lifecycle } = forOperators(call)
      return encodeOptions(identifier, await lifecycle.find(readSource(identifier), call.turn.caller.signal))
    },
  },
  files: {
    uploadFileBase64: async (_call, parameter) => {
      const { name, contentBase64 } = read(parameters.upload, parameter)
      const uploaded = encodeUpload(contentBase64)
      if (uploaded !== undefined) return uploaded
      const message = `'${name.slice(0, 100)}' is not a PNG, JPEG, GIF or WebP picture: of files, models read only pictures here`
      throw new AppError('unsupported-field', message)
    },
  },
}

/** The endpoint of a call; undefined for one that is not served. */
export function endpointOf(namespace: Namespace, name: string): Endpoint | undefined {
  const known = endpoints[namespace]
  return known !== undefined && Object.hasOwn(known, name) ? known[name] : undefined
}

/** What finds and fetches models. Throws `forbidden` for other keys than an operator's. */
function forOperators({ deps: { findOffers, lifecycle }, principal }: Call) {
  authorize(principal, 'admin')
  if (findOffers === undefined || lifecycle === undefined) throw noLifecycle()
  return { findOffers, lifecycle }
}

export function noLifecycle(): AppError {
  const message =
    'a server of several processes (server.workers is more than 1) loads no models for clients: add the model to the configuration'
  return new AppError('unsupported-field', message)
}

/** The context of the work that a call begins. */
export function contextOf({ turn }: Call, model: ServedModel) {
  turn.accepted({ parts: { decoded: { request: { model: model.id }, ignored: [] }, context: { model } }, dropped: [] })
  return { ...turn.caller, model }
}

function nameOf(specifier: Specifier): string | undefined {
  return specifier.type === 'query' ? (specifier.query.identifier ?? undefined) : undefined
}

async function tokensOf(call: Call, parameter: unknown): Promise<readonly number[]> {
  const { specifier, inputString: text } = read(parameters.text, parameter)
  const model = await findNamed(call, specifier)
  return tokenize(
    call.deps,
    { prompt: { type: 'text', text }, reasoning: {}, toolChoice: { type: 'auto' }, addBos: false, parseSpecial: true },
    contextOf(call, model),
  )
}
