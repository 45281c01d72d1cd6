/** A tool of `GET /api/tools`. */
export type ListedTool = {
  readonly name: string
  /** For a tool of an MCP server: the server, and the tool's name there. */
  readonly server?: string
  readonly server_tool?: string
  readonly description: string
  readonly needs_approval: boolean
}
export type ToolList = {
  readonly tools: readonly ListedTool[]
  readonly absent: readonly { readonly name: string; readonly why: string }[]
  /** The hosts where MCP servers of one's own may be. */
  readonly own_server_hosts: readonly string[]
}

/** A switch of a conversation: a tool, or an MCP server with its tools. */
export type Choice = {
  readonly name: string
  /** The tools of an MCP server. */
  readonly tools: readonly ListedTool[]
  /** Absent for an MCP server. */
  readonly tool?: ListedTool
  /** The reasons why it, or a part of it, cannot be used. */
  readonly problems: readonly string[]
}

/** The choices, with `names` that are switched on and no longer there: they have neither a tool nor tools. */
export function choicesOf({ tools, absent }: Pick<ToolList, 'tools' | 'absent'>, names: readonly string[]): readonly Choice[] {
  const labels = new Set(tools.flatMap(({ server, name }) => server ?? name))
  const known = new Set(tools.map(({ name }) => name))
  const all = new Set([...labels, ...absent.map(({ name }) => name), ...names.filter((name) => !known.has(name))])
  return [...all].map((name) => {
    const tool = tools.find((each) => each.name === name && each.server === undefined)
    return {
      name,
      tools: tools.filter(({ server }) => server === name),
      ...(tool !== undefined && { tool }),
      problems: absent.flatMap((each) => (each.name === name ? [each.why] : [])),
    }
  })
}

/** The part of a choice that is on. */
export function partOf({ name, tools }: Choice, names: readonly string[]): 'all' | 'some' | 'none' {
  if (names.includes(name)) return 'all'
  return tools.some((tool) => names.includes(tool.name)) ? 'some' : 'none'
}

/** Switches a tool, or an MCP server with all of its tools. */
export function withChoice(names: readonly string[], { name, tools }: Choice, isOn: boolean): readonly string[] {
  const others = names.filter((each) => each !== name && !tools.some((tool) => tool.name === each))
  return isOn ? [...others, name] : others
}

/** Switches one tool of an MCP server, which is on by its name where all of its tools are. */
export function withTool(names: readonly string[], choice: Choice, { name }: ListedTool, isOn: boolean): readonly string[] {
  const all = choice.tools.map((tool) => tool.name)
  const before = names.includes(choice.name) ? all : all.filter((each) => names.includes(each))
  const on = isOn ? [...before, name] : before.filter((each) => each !== name)
  const others = withChoice(names, choice, false)
  return on.length === all.length ? [...others, choice.name] : [...others, ...on]
}
