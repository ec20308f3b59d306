"""What can be asked: each public function of these modules is an operation on every surface."""
