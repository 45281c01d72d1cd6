// npm run mutate -- FOLDER [TESTS…]: makes one small change after the other in a folder's product files, runs the folder's unit tests or those
// at other paths, and lists the changes that no test notices. Works in a copy of the sources: the checkout stays as it is.
import { spawnSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseAst } from 'vitest/node'

type Node = { readonly type: string; readonly start: number; readonly end: number } & Readonly<Record<string, unknown>>
type Mutation = { readonly start: number; readonly end: number; readonly text: string }

const opposite: Readonly<Record<string, string>> = {
  ...{ '<': '<=', '<=': '<', '>': '>=', '>=': '>', '===': '!==', '!==': '===' },
  ...{ '&&': '||', '||': '&&', '??': '||' },
}

const root = fileURLToPath(new URL('..', import.meta.url))
const [folder, ...paths] = process.argv.slice(2)
if (folder === undefined)
  throw new Error('usage: npm run mutate -- FOLDER [TESTS…], such as src/store src/store src/http/responses')
const tests = paths.length === 0 ? [`${folder}/`] : paths

mkdirSync(join(root, '.cache'), { recursive: true })
const copy = mkdtempSync(join(root, '.cache', 'mutate-'))
process.on('exit', () => rmSync(copy, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130))
for (const name of ['src', 'test', 'docs', 'bench', 'scripts', 'models', 'package.json', 'tsconfig.json', 'vitest.config.ts'])
  cpSync(join(root, name), join(copy, name), { recursive: true })
symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))

const files = globSync(join(copy, folder, '**/*.ts')).filter((path) => !/\.test\.ts$|__fixtures__/.test(path))
if (testsFail()) throw new Error(`the tests at ${tests.join(', ')} fail without a change, or there are none`)
let survivors = 0
let count = 0
for (const path of files.sort()) {
  const source = readFileSync(path, 'utf8')
  for (const { start, end, text } of mutationsOf(source)) {
    count += 1
    writeFileSync(path, source.slice(0, start) + text + source.slice(end))
    if (testsFail()) continue
    survivors += 1
    const line = source.slice(0, start).split('\n').length
    console.log(`${relative(copy, path)}:${line} survives: ${source.slice(start, end).trim()} -> ${text.trim() || '(nothing)'}`)
  }
  writeFileSync(path, source)
}
console.log(`${survivors} of ${count} changes survive`)

function testsFail(): boolean {
  const args = ['run', '--mode', 'sources', '--project', 'unit', '--bail', '1', '--reporter', 'dot', ...tests]
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  return spawnSync(process.execPath, [vitest, ...args], { cwd: copy, stdio: 'ignore', timeout: 600_000 }).status !== 0
}

/** Flipped comparisons and connectives, dropped `+ 1` and `!`, and negated conditions that a function returns. */
function mutationsOf(source: string): Mutation[] {
  const found: Mutation[] = []
  const operator = (left: Node, right: Node, from: string, to: string) => {
    const start = source.indexOf(from, left.end)
    if (start !== -1 && start < right.start) found.push({ start, end: start + from.length, text: to })
  }
  const visit = (node: Node): void => {
    const { type, left, right, operator: sign, argument } = node as Node & Record<'left' | 'right' | 'argument', Node>
    if ((type === 'BinaryExpression' || type === 'LogicalExpression') && typeof sign === 'string') {
      const to = opposite[sign]
      if (to !== undefined) operator(left, right, sign, to)
      if ((sign === '+' || sign === '-') && right.value === 1) found.push({ start: left.end, end: node.end, text: '' })
    }
    if (type === 'UnaryExpression' && sign === '!') found.push({ start: node.start, end: node.start + 1, text: '' })
    if (type === 'ReturnStatement' && isCondition(argument)) {
      found.push({ start: argument.start, end: argument.end, text: `!(${source.slice(argument.start, argument.end)})` })
    }
    for (const child of Object.values(node).flat()) if (isNode(child)) visit(child)
  }
  visit(parseAst(source, { lang: 'ts' }) as unknown as Node)
  return found
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value
}

function isCondition(node: Node | null | undefined): boolean {
  return node !== null && node !== undefined && (node.type === 'LogicalExpression' || typeof node.value === 'boolean')
}
