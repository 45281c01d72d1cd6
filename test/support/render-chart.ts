import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'

/** What templates of the chart may name: `.Values`, `.Chart` and `.Release`. */
type Facts = { readonly Values: unknown; readonly Chart: unknown; readonly Release: unknown }

/**
 * Renders the chart's templates as Helm does, as far as they use its language: values by path, `default`, `quote`, `toYaml`, `nindent`, `if`, `else`,
 * `range` over a list and `end`. Throws for all else, so that a template that needs more is noticed. Returns the objects; a template that renders to
 * nothing has none.
 */
export function renderChart(folder: string, { release, values = {} }: { release: string; values?: Record<string, unknown> }) {
  const read = (name: string) => parse(readFileSync(join(folder, name), 'utf8'))
  const chart = read('Chart.yaml')
  const facts = {
    Values: { ...read('values.yaml'), ...values },
    Chart: { AppVersion: chart.appVersion },
    Release: { Name: release, Namespace: 'default' },
  }
  return readdirSync(join(folder, 'templates'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.yaml'))
    .map((entry) => render(readFileSync(join(entry.parentPath, entry.name), 'utf8'), facts))
    .flatMap((text) => text.split(/^---$/m))
    .filter((text) => text.trim() !== '')
    .map((text) => ({ text, object: parse(text) }))
}

type Scope = { readonly root: Facts; readonly here: unknown }

function render(template: string, root: Facts): string {
  // Texts at even places, actions at odd ones.
  const parts = template.replace(/\s*\{\{-/g, '{{').split(/\{\{ (.*?) \}\}/)
  let at = 0
  const block = (scope: Scope, isShown: boolean): string => {
    let text = ''
    for (;;) {
      if (isShown) text += parts[at] ?? ''
      const action = parts[at + 1]
      if (action === undefined || action === 'else' || action === 'end') return text
      at += 2
      const [, word, path = ''] = /^(if|range) (\S+)$/.exec(action) ?? []
      if (word === undefined) text += isShown ? evaluate(action, scope) : ''
      else text += (word === 'if' ? choice : each)(scope, isShown ? lookUp(path, scope) : undefined, isShown)
    }
  }
  const choice = (scope: Scope, value: unknown, isShown: boolean): string => {
    const first = block(scope, isShown && isTrue(value))
    const second = parts[at + 1] === 'else' ? next(() => block(scope, isShown && !isTrue(value))) : ''
    return next(() => first + second)
  }
  const each = (scope: Scope, value: unknown, isShown: boolean): string => {
    const start = at
    const texts = (Array.isArray(value) ? value : []).map((here) => {
      at = start
      return block({ ...scope, here }, isShown)
    })
    if (texts.length === 0) block(scope, false)
    return next(() => texts.join(''))
  }
  const next = <T>(then: () => T): T => {
    at += 2
    return then()
  }
  return block({ root, here: root }, true)
}

/** As in Go's templates, where what is empty is false. */
function isTrue(value: unknown): boolean {
  return typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : Boolean(value)
}

function evaluate(action: string, scope: Scope): string {
  const [first = '', ...pipes] = action.split(' | ')
  const toYaml = /^toYaml (\S+)$/.exec(first)?.[1]
  let value = toYaml === undefined ? lookUp(first, scope) : stringify(lookUp(toYaml, scope), { lineWidth: 0 }).trimEnd()
  for (const pipe of pipes) {
    const [, name, argument = ''] = /^(default|nindent|quote)(?: (\S+))?$/.exec(pipe) ?? []
    if (name === 'default') value = value === '' ? lookUp(argument, scope) : value
    else if (name === 'quote') value = JSON.stringify(String(value))
    else if (name === 'nindent') value = `\n${String(value).replace(/^(?=.)/gm, ' '.repeat(Number(argument)))}`
    else throw new Error(`the chart uses '${pipe}', which its test does not know`)
  }
  return String(value)
}

/** `.` is what `range` is at, `$` the root. */
function lookUp(path: string, { root, here }: Scope): unknown {
  if (path === '.') return here
  if (!/^\$?(\.\w+)+$/.test(path)) throw new Error(`the chart uses '${path}', which its test does not know`)
  const keys = path.replace(/^\$?\./, '').split('.')
  return keys.reduce<unknown>(
    (value, key) => {
      const next = (value as Record<string, unknown>)[key]
      if (next === undefined) throw new Error(`the chart has no value for ${path}`)
      return next
    },
    path.startsWith('$') ? root : here,
  )
}
