import type { z } from 'zod'
import { AppError } from '../../contract/errors.ts'
import { checkFields, type Field, type FieldIndex, indexFields, refusals } from './field-table.ts'
import { joinFaults } from './invalid.ts'
import { preview } from './preview.ts'

type Issue = z.core.$ZodIssue
type Path = readonly PropertyKey[]
type Fault = { readonly path: Path; readonly expected: string; readonly isKey: boolean }

/**
 * Validates a wire body. Throws `invalid-request` for its faults, the first of each field, with the expected and the actual value; `param`
 * is the path of the first. With the fields of the body, the error also names those that are refused, so that a caller can mend them together.
 * In a schema, a custom `error` text says what is expected, such as 'a number from 0 to 2'.
 */
export function validate<S extends z.ZodType>(schema: S, body: unknown, fields?: FieldIndex): z.output<S> {
  const parsed = schema.safeParse(body)
  if (parsed.success) return parsed.data
  const faults = findFaults(schema, body)
  const [first] = faults
  const refused = fields !== undefined && typeof body === 'object' && body !== null ? refusals(fields, body) : []
  throw new AppError(
    'invalid-request',
    joinFaults([...faults, ...refused].map(({ message }) => message)),
    first !== undefined && first.path.length > 0 ? { param: formatPath(first.path) } : {},
  )
}

type ReadBody<Wire> = { readonly wire: Wire; readonly ignored: string[] }

/**
 * Makes a reader of the bodies of a route. It throws as `validate` and `checkFields` do. `ignored`: the unknown fields, and what `inside`
 * finds in the objects of the body.
 */
export function bodyReader<S extends z.ZodType<object>>(
  schema: S,
  fields: readonly Field[],
  inside: (body: unknown) => readonly string[] = () => [],
): (body: unknown) => ReadBody<z.output<S>> {
  const index = indexFields(fields)
  return (body) => {
    const wire = validate(schema, body, index)
    return { wire, ignored: [...checkFields(index, wire), ...inside(body)] }
  }
}

/** The faults of a body that a schema refuses: the first of each field, with its path, the expected and the actual value. */
export function findFaults(schema: z.ZodType, body: unknown): readonly { readonly path: Path; readonly message: string }[] {
  // Only here: with options, which zod copies, a validation takes up to a third longer (Node 24).
  const described = schema.safeParse(body, { error: (issue) => describeExpected(issue) })
  return firstOfEachField(described.error?.issues ?? []).map((issue) => {
    const fault = findFault([issue])
    return { path: fault.path, message: describeFault(fault, body) }
  })
}

function firstOfEachField(issues: readonly Issue[]): readonly Issue[] {
  const seen = new Set<PropertyKey | undefined>()
  return issues.filter(({ path: [field] }) => !seen.has(field) && seen.add(field))
}

/** A path in the usual notation: `messages[0].content[1].text`. A key that is not a short word is quoted and shortened. */
export function formatPath(path: Path): string {
  return path
    .map((step, index) => {
      if (typeof step === 'number') return `[${step}]`
      const name = String(step)
      if (!/^\w{1,80}$/.test(name)) return `[${preview(name)}]`
      return index === 0 ? name : `.${name}`
    })
    .join('')
}

function describeFault({ path, expected, isKey }: Fault, body: unknown): string {
  const subject = path.length === 0 ? 'the request body' : formatPath(path)
  if (isKey) return `${subject}: expected ${expected}, got the key ${preview(path.at(-1))}`
  const value = path.reduce<unknown>((parent, step) => (parent as Record<PropertyKey, unknown>)[step], body)
  return value === undefined
    ? `${subject} is missing: expected ${expected}`
    : `${subject}: expected ${expected}, got ${preview(value)}`
}

function findFault(issues: readonly Issue[]): Fault {
  const issue = issues[0]
  if (issue === undefined) return { path: [], expected: 'a valid body', isKey: false }
  if (issue.code === 'invalid_key') return { path: issue.path, expected: issue.issues[0]?.message ?? issue.message, isKey: true }
  const own = { path: issue.path, expected: issue.message === '' ? 'another value' : issue.message, isKey: false }
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return own
  // Reports the branch whose fault comes last, otherwise one whose outer type matches; if none does, lists all branches.
  const furthest = issue.errors.reduce((best, branch) => (isFurther(branch, best) ? branch : best))
  const closest =
    (furthest[0]?.path.length ?? 0) > 0 ? furthest : issue.errors.find((branch) => branch[0]?.code !== 'invalid_type')
  const fault = closest === undefined ? undefined : findFault(closest)
  // The union's own words say more than one branch's, except about a limit.
  const isLimit = closest?.[0]?.code === 'too_big' || closest?.[0]?.code === 'too_small'
  if (fault !== undefined && (fault.path.length > 0 || issue.message === '' || isLimit)) {
    return { ...fault, path: [...issue.path, ...fault.path] }
  }
  if (issue.message !== '') return own
  return { path: issue.path, expected: issue.errors.map((branch) => findFault(branch).expected).join(' or '), isKey: false }
}

const typeNames: Readonly<Record<string, string>> = {
  null: 'null',
  undefined: 'nothing',
  never: 'nothing',
  tuple: 'an array',
  file: 'a file',
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'an array',
}

/** For every kind of issue, so that no words of Zod reach a caller; empty for a union, whose branches describe what is expected. */
function describeExpected(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return typeNames[issue.expected] ?? issue.expected
    case 'invalid_value':
      return listOptions(issue.values)
    case 'invalid_union':
      return Array.isArray(issue.options) ? listOptions(issue.options) : ''
    case 'too_small':
      if (issue.origin === 'string' && issue.minimum === 1) return 'a non-empty string'
      return `${issue.inclusive === false ? 'above' : 'at least'} ${issue.minimum}${unitOf(issue.origin)}`
    case 'too_big':
      return `${issue.inclusive === false ? 'below' : 'at most'} ${issue.maximum}${unitOf(issue.origin)}`
    case 'not_multiple_of':
      return `a multiple of ${issue.divisor}`
    case 'invalid_format':
      return formatNames[issue.format] ?? describeText(issue)
    case 'unrecognized_keys':
      return `an object without ${issue.keys.map(preview).join(', ')}`
    case 'invalid_key':
    case 'invalid_element':
    case 'custom':
    case undefined:
      return 'another value'
  }
}

const formatNames: Readonly<Record<string, string>> = {
  url: 'a URL',
  email: 'an email address',
  uuid: 'a UUID',
  base64: 'base64',
  date: 'a date such as "2026-01-31"',
  datetime: 'a time such as "2026-01-31T12:00:00Z"',
}

/** A pattern explains itself badly: its schema should describe it in words. */
function describeText({ prefix, suffix, includes, pattern }: z.core.$ZodRawIssue<z.core.$ZodIssueInvalidStringFormat>): string {
  if (prefix !== undefined) return `a string that begins with ${preview(prefix)}`
  if (suffix !== undefined) return `a string that ends with ${preview(suffix)}`
  if (includes !== undefined) return `a string with ${preview(includes)}`
  return pattern === undefined ? 'a string of another form' : `a string like ${pattern}`
}

const units: Readonly<Record<string, string>> = {
  array: ' items',
  string: ' characters',
  file: ' bytes',
  map: ' entries',
  set: ' items',
}

function unitOf(origin: string): string {
  return units[origin] ?? ''
}

function listOptions(options: readonly unknown[]): string {
  return options.length === 1 ? preview(options[0]) : `one of ${options.map(preview).join(', ')}`
}

/** Whether the first fault of one branch comes after that of another, in the order of the text. */
function isFurther([first]: readonly Issue[], [second]: readonly Issue[]): boolean {
  const path = first?.path ?? []
  const other = second?.path ?? []
  const step = path.findIndex((name, index) => name !== other[index])
  if (step === -1) return false
  const [name, otherName] = [path[step], other[step]]
  return typeof name === 'number' && typeof otherName === 'number' ? name > otherName : path.length > other.length
}
