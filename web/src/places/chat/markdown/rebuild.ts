import { micromark } from 'micromark'
import { gfm, gfmHtml } from 'micromark-extension-gfm'
import { formulaElement } from './formula.ts'
import { formulas, formulasHtml } from './formula-syntax.ts'
import { notes, notesHtml } from './note-syntax.ts'

/** The allowed elements of Markdown, and their names here: headings are below that of the page. */
const elements: Readonly<Record<string, string>> = {
  p: 'p',
  h1: 'h2',
  h2: 'h3',
  h3: 'h4',
  h4: 'h5',
  h5: 'h6',
  h6: 'h6',
  em: 'em',
  strong: 'strong',
  del: 'del',
  code: 'code',
  pre: 'pre',
  blockquote: 'blockquote',
  ul: 'ul',
  ol: 'ol',
  li: 'li',
  hr: 'hr',
  br: 'br',
  table: 'table',
  thead: 'thead',
  tbody: 'tbody',
  tr: 'tr',
  th: 'th',
  td: 'td',
  sup: 'sup',
}

/**
 * The elements of a block of Markdown, which may be the last one of an answer. HTML in it is text; nothing is loaded, and links lead only to
 * the web or a mailbox.
 */
export function renderMarkdown(block: string, isLast: boolean): DocumentFragment {
  const template = document.createElement('template')
  // The content of a template is inert until it is rebuilt from the list above.
  template.innerHTML = micromark(block, {
    extensions: [gfm(), notes, formulas(isLast)],
    htmlExtensions: [gfmHtml(), notesHtml, formulasHtml],
  })
  const made = document.createDocumentFragment()
  rebuild(template.content, made)
  return made
}

function rebuild(from: Node, into: Node): void {
  for (const node of from.childNodes) {
    if (node instanceof Text) into.appendChild(document.createTextNode(node.data))
    else if (node instanceof Element) rebuildElement(node, into)
  }
}

function rebuildElement(from: Element, into: Node): void {
  const tag = from.localName
  if (tag === 'img') return void into.appendChild(link(from.getAttribute('src') ?? '', from.getAttribute('alt') || 'picture'))
  if (tag === 'input') {
    if (into instanceof Element) into.closest('li')?.classList.add('task')
    return void into.appendChild(document.createTextNode(from.hasAttribute('checked') ? '☑' : '☐'))
  }
  if (tag === 'a') {
    const made = link(from.getAttribute('href') ?? '', '')
    rebuild(from, made)
    return void into.appendChild(made)
  }
  if (from.className === 'formula') return void into.appendChild(formulaElement(from.textContent ?? ''))
  const name = Object.hasOwn(elements, tag) ? elements[tag] : undefined
  if (name === undefined) return void rebuild(from, into)
  const made = document.createElement(name)
  if (tag === 'sup') made.className = from.className
  const align = from.getAttribute('align')
  if (align === 'right' || align === 'center') made.className = align
  if (made instanceof HTMLOListElement) made.start = Number(from.getAttribute('start') ?? 1)
  rebuild(from, made)
  if (name === 'pre') return void into.appendChild(codeFrame(languageOf(from), made))
  if (name !== 'table') return void into.appendChild(made)
  // It scrolls by itself, also by keyboard.
  const room = Object.assign(document.createElement('div'), {
    className: 'md-table',
    tabIndex: 0,
    role: 'group',
    ariaLabel: 'table',
  })
  room.append(made)
  into.appendChild(room)
}

function link(href: string, text: string): HTMLElement {
  const isSafe = /^(https?|mailto):/i.test(href)
  const made = document.createElement(isSafe ? 'a' : 'span')
  made.textContent = text
  // A character that sets the direction of the surrounding text does not set its own.
  made.dir = 'auto'
  if (made instanceof HTMLAnchorElement) Object.assign(made, { href, target: '_blank', rel: 'noopener noreferrer' })
  return made
}

function languageOf(pre: Element): string {
  return /\blanguage-(\S+)/.exec(pre.querySelector('code')?.className ?? '')?.[1] ?? ''
}

/** Code with its language and a copy button; the answer around it handles clicks. */
export function codeFrame(language: string, pre: HTMLElement): HTMLElement {
  const frame = Object.assign(document.createElement('div'), { className: 'md-code' })
  const head = Object.assign(document.createElement('div'), { className: 'md-code-head' })
  const name = Object.assign(document.createElement('span'), { textContent: language })
  const copy = Object.assign(document.createElement('button'), { type: 'button', className: 'md-copy', textContent: 'Copy' })
  pre.tabIndex = 0
  pre.setAttribute('aria-label', language === '' ? 'code' : `code in ${language}`)
  pre.setAttribute('role', 'group')
  head.append(name, copy)
  frame.append(head, pre)
  return frame
}
