import type { RuleBook } from '../rules/rule-book.ts'
import type { Expand } from './expand.ts'
import { type Facets, type Kind, kindOf, kindsToWrite, valueKey, writesOnlyDeclared } from './facets.ts'
import type { Schema } from './schema-document.ts'

const maxDepth = 3
/** The effort of comparing two branches for one kind of value, without their members. */
const effortPerPair = 1

/**
 * Whether a value of the grammar of `written` might also satisfy `other`; true when unsure. Written objects have declared
 * properties only, so a branch that requires another property excludes them.
 */
export function overlaps(written: Facets, other: Facets, { expand, book }: Pick<Context, 'expand' | 'book'>): boolean {
  // Listed values are validated one by one against the whole schema before they are written.
  if (written.values !== undefined) return false
  return kindsToWrite(written).some(
    (kind) => other.kinds.has(kind) && overlapsAs(kind, written, other, { expand, book, depth: 0 }),
  )
}

type Context = { readonly expand: Expand; readonly book: RuleBook; readonly depth: number }

function overlapsAs(kind: Kind, written: Facets, other: Facets, context: Context): boolean {
  context.book.spend(effortPerPair)
  const values = other.values?.filter((value) => kindOf(value) === kind)
  if (values?.length === 0) return false
  switch (kind) {
    case 'null':
    case 'boolean':
      return true
    case 'number':
      return overlapsNumber(written, other)
    case 'string':
      return within(written.text, other.text)
    case 'array':
      return within(written.array, other.array)
    case 'object':
      return overlapsObject(written, other, context)
  }
}

function overlapsNumber({ range: a }: Facets, { range: b }: Facets): boolean {
  const apart = (low: Facets['range'], high: Facets['range']): boolean =>
    low.max !== undefined &&
    high.min !== undefined &&
    (low.max.value < high.min.value || (low.max.value === high.min.value && (low.max.exclusive || high.min.exclusive)))
  return !apart(a, b) && !apart(b, a)
}

function within(a: { readonly min: number; readonly max?: number }, b: { readonly min: number; readonly max?: number }): boolean {
  return (a.max === undefined || a.max >= b.min) && (b.max === undefined || b.max >= a.min)
}

function overlapsObject(written: Facets, other: Facets, context: Context): boolean {
  context.book.spend((written.object.layers.length + other.object.layers.length) * 2)
  const declared = new Set([
    ...written.object.layers.flatMap((layer) => [...layer.properties.keys()]),
    ...written.object.required,
  ])
  const onlyDeclared = writesOnlyDeclared(written.object)
  const isMissing = other.object.required.some((name) => {
    const parts = partsOf(written, name)
    return (onlyDeclared && !declared.has(name)) || parts.includes(false)
  })
  if (isMissing) return false
  const certain = new Set([...written.object.required, ...other.object.required])
  return ![...certain].some((name) => isApart(partsOf(written, name), partsOf(other, name), context))
}

/** The schemas of one member by its name. Patterns are left out, which only makes the answer less certain. */
function partsOf(facets: Facets, name: string): readonly Schema[] {
  return facets.object.layers.flatMap((layer) => {
    const own = layer.properties.get(name)
    if (own !== undefined) return [own]
    return layer.additional !== undefined && layer.patterns.length === 0 ? [layer.additional] : []
  })
}

function isApart(a: readonly Schema[], b: readonly Schema[], { expand, book, depth }: Context): boolean {
  if (depth >= maxDepth || b.length === 0) return false
  const [left, right] = [expand(a), expand(b)]
  return left.every((one) => right.every((two) => isBranchApart(one, two, { expand, book, depth: depth + 1 })))
}

function isBranchApart(a: Facets, b: Facets, context: Context): boolean {
  if (a.values !== undefined && b.values !== undefined) {
    const keys = new Set(b.values.map(valueKey))
    context.book.spend((a.values.length + b.values.length) / 2)
    return !a.values.some((value) => keys.has(valueKey(value)))
  }
  if (a.values !== undefined) return a.values.every((value) => !b.kinds.has(kindOf(value)))
  const kinds = a.typed ? [...a.kinds] : kindsToWrite(a)
  return kinds.every((kind) => !b.kinds.has(kind) || !overlapsAs(kind, a, b, context))
}
