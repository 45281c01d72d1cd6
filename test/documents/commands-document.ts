import type { Argument, Command, Option } from 'commander'
import { chatHelp } from '../../src/cli/chat/chat-commands.ts'
import { markdownTable } from '../protocols/markdown-table.ts'

/** The commands as a page of the documentation, from their definitions. */
export function commandsDocument(program: Command): string {
  const commands = program.commands.filter((command) => command.name() !== 'complete')
  const help = 'Each command describes itself: `dragoman COMMAND --help`.'
  const shells =
    'Completions for a shell, in its start file: `eval "$(dragoman completion bash)"`, `eval "$(dragoman completion zsh)"` (behind ' +
    '`compinit`), or `dragoman completion fish | source`.'
  return `${['# Commands', help, shells, ...commands.flatMap((command) => sectionsOf(command))].join('\n\n')}\n`
}

function sectionsOf(command: Command, parent = 'dragoman'): string[] {
  const name = `${parent} ${command.name()}`
  const { registeredArguments: args, options } = command
  const usage = [name, ...args.map(writtenArgument), ...(options.length > 0 ? ['[options]'] : [])].join(' ')
  const rows = [
    ...args.map((one) => [`\`${one.name()}\``, describe(one)]),
    ...options.map((one) => [`\`${one.flags}\``, describeOption(one)]),
  ]
  const table = rows.length === 0 ? [] : [markdownTable(['', ''], rows).trimEnd()]
  const inside = command.name() === 'run' ? ['In a conversation:', `\`\`\`text\n${chatHelp}\n\`\`\``] : []
  const subcommands = command.commands.flatMap((one) => sectionsOf(one, name))
  return [`## ${name}`, `\`${usage}\``, sentence(command.description()), ...table, ...inside, ...subcommands]
}

function writtenArgument(argument: Argument): string {
  const written = `${argument.name()}${argument.variadic ? '...' : ''}`
  return argument.required ? `<${written}>` : `[${written}]`
}

function describe({ description, argChoices }: Pick<Argument, 'description' | 'argChoices'>): string {
  const choices = argChoices === undefined ? '' : `${description === '' ? '' : '; '}one of ${argChoices.join(', ')}`
  return `${description}${choices}`.replaceAll('|', '\\|')
}

function describeOption({ description, long }: Option): string {
  const variable = long === '--server' ? ' (default `DRAGOMAN_SERVER`, or http://127.0.0.1:7411)' : ''
  return `${description}${variable}`.replaceAll('|', '\\|')
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}
