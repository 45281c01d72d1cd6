import { isObject } from '../base/json.ts'
import { keywordsOfSchema } from '../grammar/schema/schema-document.ts'

type Part = { [keyword: string]: unknown }

/**
 * A copy of a schema that Ajv accepts, with the same meaning: `id`, which drafts since 6 do not know and Ajv refuses, is left out; anchors,
 * tuples and exclusive bounds of older drafts are written as in draft 2020-12.
 */
export function judgedSchema(schema: unknown, isDraft7: boolean): unknown {
  return copy(schema)

  function copy(value: unknown): unknown {
    if (!isObject(value)) return value
    const part: Part = {}
    for (const [keyword, inner] of Object.entries(value)) set(part, keyword, copyParts(keyword, inner))
    return renewed(part)
  }

  function copyParts(keyword: string, value: unknown): unknown {
    if (keywordsOfSchema.lists.has(keyword) && Array.isArray(value)) return value.map(copy)
    if (keywordsOfSchema.maps.has(keyword) && isObject(value)) {
      const parts: Part = {}
      for (const [name, inner] of Object.entries(value)) set(parts, name, copy(inner))
      return parts
    }
    return keywordsOfSchema.single.has(keyword) ? copy(value) : value
  }

  function renewed({ id: _, ...part }: Part): Part {
    renewBound(part, 'exclusiveMinimum', 'minimum')
    renewBound(part, 'exclusiveMaximum', 'maximum')
    if (isDraft7) return part
    const { $id, items, additionalItems, ...rest } = part
    const renamed: Part = { ...rest }
    if (typeof $id === 'string' && $id.startsWith('#')) renamed.$anchor ??= $id.slice(1)
    else if ($id !== undefined) renamed.$id = $id
    if (Array.isArray(items)) Object.assign(renamed, { prefixItems: items, items: additionalItems ?? true })
    else if (items !== undefined) renamed.items = items
    return renamed
  }
}

/** In draft 4 an exclusive bound is a Boolean beside the bound. */
function renewBound(part: Part, exclusive: string, inclusive: string): void {
  if (typeof part[exclusive] !== 'boolean') return
  if (part[exclusive] && part[inclusive] !== undefined) {
    part[exclusive] = part[inclusive]
    delete part[inclusive]
  } else {
    delete part[exclusive]
  }
}

/** Sets a member with any name, even `__proto__`. */
function set(part: Part, name: string, value: unknown): void {
  Object.defineProperty(part, name, { value, enumerable: true, writable: true, configurable: true })
}
