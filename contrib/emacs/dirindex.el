;;; dirindex.el --- Search with dirindex -*- lexical-binding: t -*-

;;; Commentary:

;; `dirindex-search' finds passages by meaning and by words, best first; `dirindex-grep' finds every line that matches.
;; The hits are links in a buffer of `grep-mode': `next-error' goes through them.

;;; Code:

(require 'grep)

(defgroup dirindex nil
  "Search your own directories by meaning and by words."
  :group 'tools)

(defcustom dirindex-program "dirindex"
  "The program that searches."
  :type 'string)

(defun dirindex--start (&rest arguments)
  "Run the program with ARGUMENTS and show its hits."
  (let ((process-connection-type nil))  ; a pipe: on a terminal hits are laid out for reading
    (compilation-start (mapconcat #'shell-quote-argument (cons dirindex-program arguments) " ")
                       #'grep-mode
                       (lambda (_mode) "*dirindex*"))))

;;;###autoload
(defun dirindex-search (query)
  "Find passages for QUERY, a question or a few words."
  (interactive "sSearch for: ")
  (dirindex--start "search" "--quiet" "--format" "grep" "--" query))

;;;###autoload
(defun dirindex-grep (pattern)
  "Find every line that matches PATTERN, in the files of all formats."
  (interactive "sPattern: ")
  (dirindex--start "grep" "-n" "-H" "--" pattern))

(provide 'dirindex)
;;; dirindex.el ends here
