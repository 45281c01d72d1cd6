import { frameTexts } from '../texts/frame.ts'
import { IconButton } from './button.tsx'
import { say } from './said.tsx'

/** Copies a text and announces it. Outside a secure context, browsers offer only the older way. */
export async function copyText(text: string, what: string): Promise<void> {
  if (navigator.clipboard !== undefined) await navigator.clipboard.writeText(text)
  else {
    const field = Object.assign(document.createElement('textarea'), { value: text, className: 'unseen' })
    document.body.append(field)
    field.select()
    document.execCommand('copy')
    field.remove()
  }
  say(frameTexts.copied(what))
}

/** A button that copies; `what` is its name: "the curl line". */
export function CopyButton({ text, what }: { readonly text: string | (() => string); readonly what: string }) {
  const copy = () => void copyText(typeof text === 'string' ? text : text(), what)
  return <IconButton icon="copy" name={`${frameTexts.copy} ${what}`} onClick={copy} />
}

/** A command or a text to copy. */
export function Command({ text, what }: { readonly text: string; readonly what: string }) {
  return (
    <div class="command">
      <pre>{text}</pre>
      <CopyButton text={text} what={what} />
    </div>
  )
}
