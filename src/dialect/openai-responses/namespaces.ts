import { createHash } from 'node:crypto'

/** A tool by the client's name: a member of a namespace, or a tool by itself. */
export type ToolName = {
  readonly name: string
  readonly namespace?: string
  /** The client's search for tools, which has its own kind of item. */
  readonly isSearch?: true
}

/** The namespace of standalone tools, if a client names it; Codex reads a call without a namespace as one of it. */
const plainNamespace = 'functions'
/** Servers that follow OpenAI's rules refuse longer function names. */
const maxNameChars = 64

/**
 * Tool names for models, which know no namespaces, and the way back. Members are called `namespace__name`, as on other servers; a member
 * has the same name in every request, which prompt caches need.
 */
export class ToolNames {
  readonly #byFlat = new Map<string, ToolName>()
  readonly #byMember = new Map<string, string>()

  /** The flat name of a newly declared tool; undefined if it is already declared. */
  declare(tool: ToolName): string | undefined {
    const key = keyOf(tool)
    if (this.#byMember.has(key)) return undefined
    const plain = flatten(tool)
    const flat = this.#byFlat.has(plain) ? shorten(plain, key) : plain
    this.#byFlat.set(flat, tool)
    this.#byMember.set(key, flat)
    return flat
  }

  /** The flat name of a tool, whether or not it is declared. */
  flatten(tool: ToolName): string {
    return this.find(tool) ?? flatten(tool)
  }

  /** The flat name of a declared tool. A standalone tool is also found in the namespace of such tools, and vice versa. */
  find(tool: ToolName): string | undefined {
    const other = tool.namespace === undefined ? { name: tool.name, namespace: plainNamespace } : { name: tool.name }
    const isPlain = tool.namespace === undefined || tool.namespace === plainNamespace
    return this.#byMember.get(keyOf(tool)) ?? (isPlain ? this.#byMember.get(keyOf(other)) : undefined)
  }

  /** The flat names of a namespace's members. */
  membersOf(namespace: string): readonly string[] {
    return [...this.#byFlat].filter(([, tool]) => tool.namespace === namespace).map(([flat]) => flat)
  }

  /** The client's name of a tool; a name that the model made up stays as it is. */
  restore(flat: string): ToolName {
    return this.#byFlat.get(flat) ?? { name: flat }
  }
}

function flatten({ name, namespace }: ToolName): string {
  if (namespace === undefined || namespace === plainNamespace) return name
  const flat = `${namespace.replace(/_+$/, '')}__${name}`
  return flat.length <= maxNameChars ? flat : shorten(flat, keyOf({ name, namespace }))
}

function shorten(flat: string, key: string): string {
  const digest = createHash('sha256').update(key).digest('hex').slice(0, 8)
  return `${flat.slice(0, maxNameChars - digest.length - 1)}_${digest}`
}

function keyOf({ name, namespace }: ToolName): string {
  return JSON.stringify([namespace ?? null, name])
}

/** A `namespace` other than text counts as absent. */
export function toolNameOf(name: string, namespace: unknown): ToolName {
  return typeof namespace === 'string' && namespace !== '' ? { name, namespace } : { name }
}
