import { isDeepStrictEqual } from 'node:util'
import { AppError } from '../../contract/errors.ts'
import { preview } from '../wire/preview.ts'

type Spelled<Name, Value> = { readonly name: Name; readonly value: Value }

/** The spellings of the fields that have several, in the names of clients and other servers. The first is the documented one. */
export const spellingsOf = {
  temperature: ['temperature', 'temp'],
  seed: ['seed', 'sampler_seed', 'random_seed'],
  repetitionPenalty: ['repetition_penalty', 'rep_pen', 'repeat_penalty'],
  repetitionRange: ['penalty_range', 'repetition_range', 'repetition_penalty_range', 'rep_pen_range', 'repeat_last_n'],
  bans: ['banned_tokens', 'custom_token_bans'],
  typical: ['typical', 'typical_p', 'typ_p'],
  sigma: ['top_n_sigma', 'nsigma'],
  lowest: ['min_temp', 'dynatemp_low', 'dynatemp_min'],
  highest: ['max_temp', 'dynatemp_high', 'dynatemp_max'],
  exponent: ['temp_exponent', 'dynatemp_exponent'],
  tailFree: ['tfs', 'tfs_z'],
  allowed: ['allowed_tokens', 'allowed_token_ids'],
  order: ['samplers', 'sampler_order', 'sampler_priority'],
  dryRange: ['dry_range', 'dry_penalty_last_n'],
  stop: ['stop', 'stop_sequence', 'stopping_strings'],
  guidance: ['cfg_scale', 'guidance_scale'],
  minimum: ['min_tokens', 'min_length', 'min_new_tokens'],
  limit: ['max_completion_tokens', 'max_tokens', 'max_length', 'max_new_tokens', 'max_output_tokens', 'n_predict', 'num_predict'],
  ignoreEos: ['ignore_eos', 'ban_eos_token'],
} as const

/** A field of a shape for each spelling, so that an error names the one in the request. */
export function spelled<const Name extends string, Type>(names: readonly Name[], type: Type): { readonly [N in Name]: Type } {
  return Object.fromEntries(names.map((name) => [name, type])) as { [N in Name]: Type }
}

/**
 * The value of a field with several spellings, or undefined. Throws `invalid-request` for two different values; `path`: the prefix of the
 * fields, such as `messages[0].`.
 */
export function pickSpelling<Wire extends object, Name extends keyof Wire & string>(
  wire: Wire,
  names: readonly Name[],
  path = '',
): NonNullable<Wire[Name]> | undefined {
  return pickSpelled(wire, names, path)?.value
}

/** As `pickSpelling`, with the spelling in the request, for errors about the value. */
export function pickSpelled<Wire extends object, Name extends keyof Wire & string>(
  wire: Wire,
  names: readonly Name[],
  path = '',
): Spelled<Name, NonNullable<Wire[Name]>> | undefined {
  let chosen: Spelled<Name, NonNullable<Wire[Name]>> | undefined
  for (const name of names) {
    const value = wire[name]
    if (value === undefined || value === null) continue
    if (chosen !== undefined && !isSame(chosen.value, value)) {
      throw new AppError(
        'invalid-request',
        `${path}${chosen.name} and ${path}${name} are the same field, with different values ` +
          `${preview(chosen.value)} and ${preview(value)}: send one of them`,
        { param: `${path}${name}` },
      )
    }
    chosen ??= { name, value }
  }
  return chosen
}

/** Whether two values are deeply equal; false for values that nest too deeply to compare. */
export function isSame(first: unknown, second: unknown): boolean {
  try {
    return isDeepStrictEqual(first, second)
  } catch (error) {
    if (error instanceof RangeError) return false
    throw error
  }
}
