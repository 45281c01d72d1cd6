import type { Adapter } from '../../contract/engine.ts'
import type { NameOf } from '../../contract/field.ts'
import { checkFields, indexFields } from '../wire/field-table.ts'
import { list } from '../wire/first-fault.ts'
import { form } from '../wire/form.ts'
import { validate } from '../wire/validate.ts'
import { anyNumber, flag, nonEmptyText } from '../wire/wire-types.ts'
import { loraLoadFields, loraUnloadFields } from './fields.ts'
import type { Loras } from './replies.ts'

const maxAdapters = 64
export const loraLoadSchema = form({
  loras: list(form({ name: nonEmptyText, scaling: anyNumber }), {
    error: 'an array of objects with a name',
    max: { count: maxAdapters, error: `an array of at most ${maxAdapters} objects` },
  }).min(1, { error: 'at least one adapter' }),
  skip_queue: flag,
})
export const loraUnloadSchema = form({ skip_queue: flag })
const index = indexFields(loraLoadFields)
const unloadIndex = indexFields(loraUnloadFields)

type DecodedAdapters = {
  readonly adapters: readonly Adapter[]
  readonly endsRequests: boolean
  readonly ignored: readonly string[]
}

/** tabbyAPI's `POST /v1/lora/load`. Throws `invalid-request` with `param`. */
export function decodeLoraLoad(body: unknown): DecodedAdapters {
  const { loras, skip_queue, ...rest } = validate(loraLoadSchema, body, index)
  return {
    adapters: loras.map(({ name, scaling }) => ({ name, scale: scaling ?? 1 })),
    endsRequests: skip_queue === true,
    ignored: checkFields(index, rest),
  }
}

/** tabbyAPI's `POST /v1/lora/unload`, which unloads all. */
export function decodeLoraUnload(body: unknown): DecodedAdapters {
  const { skip_queue, ...rest } = validate(loraUnloadSchema, body, unloadIndex)
  return { adapters: [], endsRequests: skip_queue === true, ignored: checkFields(unloadIndex, rest) }
}

/** tabbyAPI's names for the places of these loads. */
export const nameLoraField: NameOf = ([first]) => (first === 'endsRequests' ? 'skip_queue' : 'loras')

/** tabbyAPI's list of adapters. */
export function encodeLoras(adapters: readonly Adapter[], createdAtMs: number): Loras {
  const created = Math.floor(createdAtMs / 1000)
  return {
    object: 'list',
    data: adapters.map(({ name, scale }) => ({ id: name, object: 'lora', created, owned_by: 'dragoman', scaling: scale })),
  }
}
