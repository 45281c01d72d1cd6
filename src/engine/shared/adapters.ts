import type { Adapter } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import { field } from '../../contract/field.ts'
import type { AdapterChoice, GenerationRequest } from '../../contract/request.ts'

type Loaded = { readonly model: string; readonly adapters: readonly Adapter[] }

/** The scale of each of a model's adapters for a request. Throws `unsupported-field` for an adapter that the model does not have. */
export function scalesFor(choice: AdapterChoice | undefined, { model, adapters }: Loaded): readonly number[] {
  switch (choice?.type) {
    case undefined:
      return adapters.map(({ scale }) => scale)
    case 'loaded':
      if (adapters.some(({ scale }) => scale !== 0)) return adapters.map(({ scale }) => scale)
      throw refusal(`model '${model}' has no adapter that is applied${namesOf(adapters)}`)
    case 'none':
      return adapters.map(() => 0)
    case 'named': {
      const { name } = choice
      if (!adapters.some((adapter) => adapter.name === name)) {
        throw refusal(`model '${model}' has no adapter '${name.slice(0, 100)}'${namesOf(adapters)}`)
      }
      return adapters.map((adapter) => (adapter.name === name ? adapter.scale || 1 : 0))
    }
  }
}

/** Throws `unsupported-field` for a request with other adapters than those that an engine applies to everything. */
export function refuseOtherAdapters({ adapter }: Pick<GenerationRequest, 'adapter'>, { model, adapters }: Loaded): void {
  if (adapter === undefined) return
  const wanted = scalesFor(adapter, { model, adapters })
  if (adapters.every(({ scale }, index) => scale === wanted[index])) return
  const applied = adapters.flatMap(({ name, scale }) => (scale === 0 ? [] : [`${name} (${scale})`])).join(', ')
  throw refusal(
    `model '${model}' applies ${applied === '' ? 'no adapter' : `the adapters ${applied}`} to all requests, so that ` +
      `${field('adapter')} cannot change that: leave it out${namesOf(adapters)}, load the model with other adapters, or serve it with a llama-server engine`,
  )
}

/** Throws `unsupported-field` for any choice of adapters. */
export function refuseAdapterChoice({ adapter }: Pick<GenerationRequest, 'adapter'>, model: string): void {
  if (adapter === undefined) return
  throw refusal(
    `model '${model}' runs on other servers, whose protocols have no field for adapters, so that it has none here: leave ` +
      `${field('adapter')} out, and send the name under which a server lists the adapter as the model, as vLLM has it`,
  )
}

function namesOf(adapters: readonly Adapter[]): string {
  return adapters.length === 0 ? ' (it has none)' : ` (it has: ${adapters.map(({ name }) => name).join(', ')})`
}

function refusal(message: string): AppError {
  return new AppError('unsupported-field', message.includes('leave ') ? message : `${message}: leave ${field('adapter')} out`, {
    at: ['adapter'],
  })
}
