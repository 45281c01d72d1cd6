import { AppError } from '../../contract/errors.ts'
import type { ToolChoice } from '../../contract/request.ts'
import { invalid } from '../wire/invalid.ts'
import { preview } from '../wire/preview.ts'
import { type ToolName, type ToolNames, toolNameOf } from './namespaces.ts'
import type { ResponseWire } from './schema.ts'
import type { HostedTools } from './server-tools/decode-hosted.ts'
import { isKnownChoice } from './tool-schema.ts'

type WireChoice = NonNullable<ResponseWire['tool_choice']>

/** Decodes the choice of a tool. Throws for an undeclared tool, or one that does not run here. */
export class ToolChoiceDecoder {
  /** Choices without effect. */
  readonly ignored: string[] = []
  readonly #names: ToolNames
  readonly #hosted: HostedTools

  constructor(names: ToolNames, hosted: HostedTools) {
    this.#names = names
    this.#hosted = hosted
  }

  /** `isEmpty`: the model has no tools. */
  decode(choice: WireChoice | null | undefined, isEmpty: boolean): ToolChoice {
    if (choice === undefined || choice === null) return { type: 'auto' }
    if (choice === 'required' && isEmpty) {
      throw invalid('tool_choice', 'tool_choice "required" needs a tool to call: send a function in tools')
    }
    if (typeof choice === 'string') return { type: choice }
    if (!isKnownChoice(choice)) {
      const names = this.#hosted.namesOf(choice)
      if (names !== undefined) return { type: 'required', names }
      const message = `tool_choice ${preview(choice.type)} is a tool that is not run here: choose a function, or send "auto"`
      throw new AppError('unsupported-field', message, { param: 'tool_choice' })
    }
    if (choice.type !== 'allowed_tools') {
      const name = choice.name ?? choice.function?.name
      if (name === undefined) throw invalid('tool_choice.name', 'tool_choice.name is missing: name the function to call')
      return { type: 'required', names: [this.#require(toolNameOf(name, choice.namespace), 'tool_choice')] }
    }
    const names = choice.tools.flatMap((tool, index) => this.#allowed(tool, `tool_choice.tools[${index}]`))
    if (names.length > 0) return { type: choice.mode, names: [...new Set(names)] }
    if (choice.mode === 'auto') return { type: 'none' }
    throw invalid('tool_choice', 'tool_choice requires a call of a tool that is not run here: allow a function')
  }

  #allowed(choice: { type: string; name?: unknown; namespace?: unknown }, path: string): readonly string[] {
    const { type, name, namespace } = choice
    const hosted = this.#hosted.namesOf(choice)
    if (hosted !== undefined) return hosted
    if ((type !== 'function' && type !== 'custom' && type !== 'namespace') || typeof name !== 'string') {
      this.ignored.push(path)
      return []
    }
    if (type !== 'namespace') return [this.#require(toolNameOf(name, namespace), 'tool_choice')]
    const members = this.#names.membersOf(name)
    if (members.length > 0) return members
    throw invalid('tool_choice', `${path}.name ${preview(name)} is a namespace that is not declared: declare it in tools`)
  }

  #require(tool: ToolName, param: string): string {
    const flat = this.#names.find(tool)
    if (flat !== undefined) return flat
    throw invalid(param, `${param} names ${preview(tool.name)}, which is not declared: declare it in tools`)
  }
}
