import { createHash } from 'node:crypto'

/** Plain JavaScript for the browser: it reads the document beside it, and sends requests that a reader wants to try. */
const script = String.raw`
const make = (tag, { text, ...rest } = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), rest)
  if (text !== undefined) element.textContent = text
  element.append(...children)
  return element
}
const find = (id) => document.getElementById(id)
// As the page at / keeps them.
const theme = localStorage.getItem('dragoman.theme')
if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
find('key').value = sessionStorage.getItem('dragoman.key') ?? ''

/** Text with code between backticks. */
const worded = (text = '') => text.split('\x60').map((part, index) => (index % 2 === 0 ? part : make('code', { text: part })))

/** Paragraphs and lists. */
const described = (text) => text.trim().split('\n\n').map((block) => block.startsWith('- ')
  ? make('ul', {}, ...block.slice(2).split('\n- ').map((item) => make('li', {}, ...worded(item))))
  : make('p', {}, ...worded(block)))
const authorization = () => (find('key').value === '' ? {} : { authorization: 'Bearer ' + find('key').value })
let schemas = {}

function nameOf({ $ref = '' }) {
  return $ref.slice($ref.lastIndexOf('/') + 1)
}

function typeOf(schema) {
  if (schema.$ref !== undefined) return nameOf(schema)
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  const options = schema.anyOf ?? schema.oneOf
  if (options !== undefined) return [...new Set(options.map(typeOf))].join(' | ')
  if (schema.type === 'array') return 'array of ' + typeOf(schema.items ?? {})
  return [schema.type ?? 'any'].flat().join(' | ')
}

function fieldsOf(schema) {
  const found = schema.$ref === undefined ? schema : (schemas[nameOf(schema)] ?? {})
  const rows = Object.entries(found.properties ?? {}).map(([name, field]) =>
    make('tr', {}, make('td', {}, make('code', { text: name }), (found.required ?? []).includes(name) ? ' *' : ''),
      make('td', { text: typeOf(field) }), make('td', {}, ...worded(field.description))))
  return rows.length === 0 ? [] : [make('div', { className: 'scrolls', tabIndex: 0, role: 'group', ariaLabel: 'Fields' }, make('table', {}, ...rows))]
}

/** The body, with the first model in place of the word for one. */
async function bodyOf({ value }) {
  if (!value.includes('"MODEL"')) return value
  const { data = [] } = await (await fetch('v1/models', { headers: authorization() })).json()
  return data.length === 0 ? value : value.replaceAll('"MODEL"', JSON.stringify(data[0].id))
}

async function send(method, path, inputs, body, output) {
  const url = path.replace(/\{(\w+)\}/g, (_, name) => inputs.get(name).value)
  output.textContent = '…'
  try {
    const response = await fetch(url.slice(1) || '.', {
      method,
      headers: { ...authorization(), ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: await bodyOf(body) }),
    })
    output.textContent = response.status + ' ' + (response.headers.get('content-type') ?? '') + '\n'
    const decoder = new TextDecoder()
    const reader = response.body?.getReader()
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true }
      if (done) break
      output.textContent += decoder.decode(value, { stream: true })
    }
  } catch (error) {
    output.textContent = String(error)
  }
}

function tryOut(method, path, operation) {
  const content = operation.requestBody?.content ?? {}
  if (operation.requestBody !== undefined && content['application/json'] === undefined) {
    return [make('p', { text: 'It takes a form: ' + Object.keys(content).join(', ') })]
  }
  const inputs = new Map(operation.parameters.filter((each) => each.in === 'path').map(({ name }) => [name, make('input', { placeholder: name, ariaLabel: name })]))
  const example = JSON.stringify(content['application/json']?.example ?? {}, null, 2)
  const body = content['application/json'] === undefined ? undefined : make('textarea', { ariaLabel: 'Body', value: example, rows: example.split('\n').length + 1 })
  const output = make('pre', { tabIndex: 0 })
  const button = make('button', { text: 'Send', onclick: () => send(method, path, inputs, body, output) })
  return [...inputs.values(), ...(body === undefined ? [] : [body]), button, output]
}

function detailsOf(method, path, operation) {
  const scope = operation.security[0]?.bearer?.[0]
  const { content = {} } = Object.values(operation.responses)[0] ?? {}
  const requests = Object.entries(operation.requestBody?.content ?? {}).flatMap(([type, { schema }]) => [
    make('h4', { text: 'Request: ' + type }), ...fieldsOf(schema)])
  const replies = Object.entries(content).flatMap(([type, media]) => [
    make('h4', { text: 'Reply: ' + type }), ...fieldsOf(media['x-each'] ?? media.schema ?? {})])
  const query = operation.parameters.filter((each) => each.in === 'query').map(({ name, schema }) => name + ': ' + typeOf(schema))
  const facts = [
    scope === undefined ? 'Needs no key' : 'Scope of a key: ' + scope,
    ...(query.length > 0 ? ['Query: ' + query.join('; ')] : []),
    ...(operation['x-also-at'] === undefined ? [] : ['Also at: ' + operation['x-also-at'].join(', ')]),
  ]
  return [...facts.map((text) => make('p', { text })), ...tryOut(method, path, operation), ...requests, ...replies]
}

function entryOf(method, path, operation) {
  const summary = make('summary', {}, make('b', { text: method }), ' ', make('code', { text: path }), ' ', ...worded(operation.summary))
  const entry = make('details', { id: operation.operationId }, summary)
  entry.addEventListener('toggle', () => {
    if (entry.open && entry.children.length === 1) entry.append(...detailsOf(method, path, operation))
  })
  return entry
}

async function show() {
  const response = await fetch('openapi.json')
  const { info, tags, paths, components } = await response.json()
  schemas = components.schemas
  find('title').textContent = info.title + ' ' + info.version
  find('about').replaceChildren(...described(info.description))
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })))
  const groups = [...tags, { name: 'Others', description: '' }]
  for (const { name, description } of groups) {
    const entries = all.filter(({ operation }) => (operation.tags?.[0] ?? 'Others') === name)
    if (entries.length === 0) continue
    find('routes').append(make('section', {}, make('h2', { text: name }), make('p', {}, ...worded(description)),
      ...entries.map(({ method, path, operation }) => entryOf(method, path, operation))))
  }
  const wanted = document.getElementById(location.hash.slice(1))
  if (wanted !== null) wanted.open = true
}

find('filter').addEventListener('input', ({ target }) => {
  const words = target.value.toLowerCase().split(/\s+/)
  for (const section of document.querySelectorAll('section')) {
    const entries = [...section.querySelectorAll('details')]
    for (const entry of entries) entry.hidden = !words.every((word) => entry.firstChild.textContent.toLowerCase().includes(word))
    section.hidden = entries.every((entry) => entry.hidden)
  }
})
show().catch((error) => {
  find('about').textContent = 'openapi.json cannot be read: ' + error
})
`

/** In the style of the page at `/`: the colours are those of web/src/styles/base.css. */
const style = `
:root {
  color-scheme: light dark;
  --bg: light-dark(#ffffff, #131619);
  --raised: light-dark(#f5f6f8, #1b1f23);
  --sunken: light-dark(#eceef1, #0d0f11);
  --line: light-dark(#dde0e4, #2c3238);
  --edge: light-dark(#878f99, #707a84);
  --text: light-dark(#1a1e23, #e7eaed);
  --muted: light-dark(#58616c, #9ca6b0);
  --accent: light-dark(#0a5bc4, #74b3ff);
}
:root[data-theme="light"] { color-scheme: light }
:root[data-theme="dark"] { color-scheme: dark }
*, ::before, ::after { box-sizing: border-box }
body { margin: 0; background: var(--bg); color: var(--text); font: 14px/20px system-ui, sans-serif }
header {
  position: sticky; top: 0; z-index: 1; display: flex; flex-wrap: wrap; align-items: center; gap: 8px 12px; min-height: 52px;
  padding: 8px 20px; background: var(--bg); border-bottom: 1px solid var(--line);
}
h1 { margin: 0; font-size: 16px; line-height: 24px }
h2 { margin: 24px 0 4px; font-size: 16px; line-height: 24px }
h4 { margin: 12px 0 4px; font-size: 13px }
b, h1, h2, h4 { font-weight: 600 }
p, ul { margin: 8px 0; max-width: 72ch }
ul { padding-left: 24px }
main { padding: 8px 20px 48px; max-width: 1100px }
a { color: var(--accent); text-underline-offset: 2px }
.space { flex: 1 }
input, textarea, button { min-height: 32px; padding: 5px 10px; border: 1px solid var(--edge); border-radius: 6px; background: var(--bg); color: inherit; font: inherit }
header input { flex: 0 1 240px; min-width: 120px }
input::placeholder { color: var(--muted); opacity: 1 }
button { cursor: pointer }
button:hover { background: var(--sunken) }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px }
details { border: 1px solid var(--line); border-radius: 6px; margin: 4px 0 }
details[open] { padding: 0 12px 12px }
summary { padding: 6px 12px; cursor: pointer; overflow-wrap: anywhere }
details[open] summary { margin: 0 -12px 8px; background: var(--raised); border-radius: 6px }
summary b { display: inline-block; min-width: 5em }
code, pre, textarea { font: 13px/20px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace }
pre { margin: 8px 0 0; max-height: 480px; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere }
textarea { display: block; width: 100%; margin-bottom: 8px; resize: vertical }
.scrolls { overflow-x: auto }
table { width: 100%; border-collapse: collapse; font-size: 13px }
td { padding: 6px 12px 6px 0; border-top: 1px solid var(--line); vertical-align: top }
td:last-child { min-width: 24ch; width: 55% }
@media (max-width: 719px) { header, main { padding-inline: 12px } input, textarea, button { min-height: 40px; font-size: 16px } }
`

/** A page about every route that needs no address outside this server. Its URLs are relative: a proxy may serve it below a prefix. */
export const docsPage = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Dragoman: API</title>
<meta name="viewport" content="width=device-width"><style>${style}</style></head><body>
<header><h1 id="title">Dragoman</h1><a href="./">Chat</a><a href="openapi.json">openapi.json</a><span class="space"></span>
<input id="filter" type="search" placeholder="Filter the routes" aria-label="Filter the routes">
<input id="key" type="password" placeholder="API key, if one is needed" aria-label="API key" autocomplete="off"></header>
<main><div id="about">Reading openapi.json …</div><div id="routes"></div></main><script>${script}</script></body></html>
`

const hash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/** Its own script, its own style, and requests to this server. */
export const docsPolicy = `default-src 'none'; connect-src 'self'; script-src ${hash(script)}; style-src ${hash(style)}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
