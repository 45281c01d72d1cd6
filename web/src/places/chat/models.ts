import { effect, signal } from '@preact/signals'
import { call } from '../../api/client.ts'
import { returns } from '../../api/connection.ts'

export type Model = {
  readonly id: string
  readonly state: string
  readonly aliases?: readonly string[]
  readonly kind?: string
  readonly context_length?: number
  readonly max_context_length?: number
  /** Absent if what it reads is not known. */
  readonly architecture?: { readonly input_modalities: readonly string[] }
  /** Why it reads no pictures and sounds, and what to do. */
  readonly media_problem?: string
  /** What it offers besides language. */
  readonly services?: readonly string[]
}

/** The models for chat; undefined until the server has answered, a failure if it did not. */
export const models = signal<readonly Model[] | undefined>(undefined)
/** The model that speaks; undefined: none does. */
export const speaker = signal<string | undefined>(undefined)
export const modelsProblem = signal<unknown>(undefined)

export async function readModels(): Promise<void> {
  try {
    const { data } = await call<{ readonly data: readonly Model[] }>('v1/models')
    models.value = data.filter(({ kind }) => kind === undefined || !/embed|rerank|speech|image/.test(kind))
    speaker.value = data.find(({ services }) => services?.includes('speech') === true)?.id
    modelsProblem.value = undefined
  } catch (error) {
    modelsProblem.value = error
  }
}

/** The model of a conversation: the chosen one if it exists, otherwise the operator's default, a loaded one, or the first. */
export function modelOf(chosen: string | undefined): Model | undefined {
  const all = models.value ?? []
  const isDefault = ({ id, aliases = [] }: Model) => id === 'default' || aliases.includes('default')
  return all.find(({ id }) => id === chosen) ?? all.find(isDefault) ?? all.find(({ state }) => state === 'ready') ?? all[0]
}

/** The models in the order in which they are offered: a loaded one answers soonest. */
export function bestFirst(all: readonly Model[]): readonly Model[] {
  return all.toSorted((one, other) => Number(other.state === 'ready') - Number(one.state === 'ready'))
}

/** The tokens that a model's context holds; undefined: not known. */
export function contextOf(model: Model): number | undefined {
  return model.context_length ?? propertiesOf(model)?.default_generation_settings?.n_ctx ?? model.max_context_length ?? undefined
}

type Properties = {
  readonly default_generation_settings?: { readonly n_ctx?: number | null; readonly params?: Readonly<Record<string, number>> }
  readonly modalities?: { readonly vision?: boolean; readonly audio?: boolean }
}

const properties = signal<ReadonlyMap<string, Properties>>(new Map())
const asked = new Set<string>()

/** The properties in force for a loaded model; asking about another one would load it. */
export function propertiesOf({ id, state }: Model): Properties | undefined {
  if ((state === 'ready' || state === 'degraded') && !asked.has(id)) {
    asked.add(id)
    call<Properties>(`props?model=${encodeURIComponent(id)}`).then(
      (found) => {
        properties.value = new Map([...properties.value, [id, found]])
      },
      // Models of other servers have none; the fields then show no values in force.
      () => undefined,
    )
  }
  return properties.value.get(id)
}

effect(() => {
  // Runs again when the server returns, or the caller has changed.
  if (returns.value > 0) void readModels()
})
