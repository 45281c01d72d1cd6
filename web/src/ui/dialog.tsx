import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { frameTexts } from '../texts/frame.ts'
import { useBack } from './back.ts'
import { Button, IconButton } from './button.tsx'

type DialogProps = {
  readonly title: string
  readonly onClose?: () => void
  readonly isWide?: boolean
  readonly children: ComponentChildren
}

/** A modal dialog while it is rendered: the focus is inside, and returns. Without `onClose` it stays until it is removed. */
export function Dialog({ title, onClose, isWide = false, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  useEffect(() => {
    const dialog = element.current
    const before = document.activeElement
    dialog?.showModal()
    return () => {
      dialog?.close()
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  useBack(onClose !== undefined, () => onClose?.())
  const cancel = (event: Event) => {
    event.preventDefault()
    onClose?.()
  }
  return (
    <dialog ref={element} class={isWide ? 'dialog wide' : 'dialog'} aria-labelledby={titleId} onCancel={cancel}>
      <div class="dialog-head">
        <h2 id={titleId}>{title}</h2>
        {onClose !== undefined && <IconButton icon="close" name={frameTexts.close} onClick={onClose} />}
      </div>
      {children}
    </dialog>
  )
}

type ConfirmProps = {
  readonly title: string
  /** What will end: "2 running requests of 2 callers". */
  readonly children?: ComponentChildren
  readonly action: string
  /** A second act to choose. */
  readonly other?: { readonly name: string; readonly act: () => unknown }
  readonly onConfirm: () => unknown
  readonly onClose: () => void
}

/** Asks before a destructive act; Enter confirms. */
export function Confirm({ title, children, action, other, onConfirm, onClose }: ConfirmProps) {
  const confirm = (event: Event) => {
    event.preventDefault()
    onClose()
    onConfirm()
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={confirm}>
        {children}
        <div class="dialog-end">
          <Button onClick={onClose}>{frameTexts.cancel}</Button>
          {other !== undefined && <Button onClick={other.act}>{other.name}</Button>}
          <Button kind="danger" autofocus>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
